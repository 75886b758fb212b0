#include "handlers/worker_samples.h"

#include <algorithm>
#include <optional>

#include "state/base/json.h"

namespace reclaim {
namespace {

constexpr std::size_t kBytesMax = 1U << 20;
constexpr std::size_t kLabelBytesMax = 1'024;

std::optional<MetricId> metric_named(std::string_view name) {
  const auto rows = worker_metric_rows();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const WorkerMetricRow& row) { return row.name == name; });
  if (found == rows.end()) return std::nullopt;
  return static_cast<MetricId>(found - rows.begin());
}

std::optional<std::vector<std::string>> labels_of(const rapidjson::Value& values) {
  if (!values.IsArray()) return std::nullopt;
  std::vector<std::string> labels;
  for (const rapidjson::Value& value : values.GetArray()) {
    if (!value.IsString() || value.GetStringLength() > kLabelBytesMax) return std::nullopt;
    labels.emplace_back(value.GetString(), value.GetStringLength());
  }
  return labels;
}

std::optional<std::vector<double>> numbers_of(const rapidjson::Value& values) {
  if (!values.IsArray()) return std::nullopt;
  std::vector<double> numbers;
  for (const rapidjson::Value& value : values.GetArray()) {
    if (!value.IsNumber() || value.GetDouble() < 0) return std::nullopt;
    numbers.push_back(value.GetDouble());
  }
  return numbers;
}

void add(const rapidjson::Value& each, WorkerSamples& samples) {
  constexpr rapidjson::SizeType kParts = 3;
  if (!each.IsArray() || each.Size() != kParts || !each[0].IsString()) return;
  const auto metric = metric_named({each[0].GetString(), each[0].GetStringLength()});
  auto labels = labels_of(each[1]);
  auto numbers = numbers_of(each[2]);
  if (!metric || !labels || !numbers) return;
  const WorkerMetricRow& row = row_of(*metric);
  if (labels->size() + 1 != row.label_names().size() || numbers->size() != row.numbers()) return;
  samples.try_emplace({*metric, *std::move(labels)}, *std::move(numbers));
}

}  // namespace

std::string encode(const WorkerSamples& samples) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartArray();
  for (const auto& [key, numbers] : samples) {
    writer.StartArray();
    const std::string_view name = row_of(key.first).name;
    writer.String(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    writer.StartArray();
    for (const std::string& label : key.second) writer.String(label);
    writer.EndArray();
    writer.StartArray();
    for (const double number : numbers) writer.Double(number);
    writer.EndArray();
    writer.EndArray();
  }
  writer.EndArray();
  return {buffer.GetString(), buffer.GetSize()};
}

WorkerSamples decode_worker_samples(std::string_view text) {
  WorkerSamples samples;
  const auto document = json::parse(text, kBytesMax);
  if (!document || !document->IsArray()) return samples;
  for (const rapidjson::Value& each : document->GetArray()) add(each, samples);
  return samples;
}

}  // namespace reclaim
