#include "cli/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr std::size_t kWordsBytesMax = 60;  // of a step's message

}  // namespace

std::string progress_bar(const std::string& host, const Record& record) {
  const double share = std::clamp(record.progress_percent / 100.0, 0.0, 1.0);
  const int full = static_cast<int>(share * kBarWidth);
  std::string eta;
  if (record.progress_eta_s >= 0) eta = fmt::format(", about {} s left", record.progress_eta_s);
  // The message is shown on one line, whatever is written there.
  const std::string& words = record.progress_message;
  return fmt::format(
      "{}{}{} {} [{}{}] {:3.0f}%{}{}{}", host, host.empty() ? "" : " ", to_string(record.address),
      visible(record.clean_step), std::string(static_cast<std::size_t>(full), '#'),
      std::string(static_cast<std::size_t>(kBarWidth - full), '.'), record.progress_percent, eta,
      words.empty() ? "" : " ", printable_excerpt(words, kWordsBytesMax));
}

}  // namespace reclaim::cli
