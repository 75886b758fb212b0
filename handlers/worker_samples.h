// WorkerSamples: the numbers that a worker measures of itself, and their form in Redis, from where
// `reclaim api` answers GET /metrics. Pure; thread: any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/worker_metric_rows.h"

namespace reclaim {

// A metric and the values of its labels, in the order of its row, without the host.
using SampleKey = std::pair<MetricId, std::vector<std::string>>;
// The number of each. A histogram has one for each of its row's bounds, how many were at most that
// and above the bound before; then how many were above the last one; then the sum of all.
using WorkerSamples = std::map<SampleKey, std::vector<double>>;

// JSON: [["reclaim_steps_total", ["nvme.format", "done"], [2]], ...]
[[nodiscard]] std::string encode(const WorkerSamples& samples);

// Reads them, where another version may have written them, or somebody else: what is no sample of a
// known row is left out, and of two of one key the second.
[[nodiscard]] WorkerSamples decode_worker_samples(std::string_view text);

}  // namespace reclaim
