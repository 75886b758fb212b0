#include "cli/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/fit.h"
#include "cli/format.h"
#include "state/base/log.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kBarWidthMin = 10;
constexpr std::size_t kWordsBytesMax = 60;  // of a step's message

}  // namespace

std::string progress_bar(const std::string& host, const Record& record, std::size_t width) {
  const std::string place = fmt::format("{}{}{} {}", host, host.empty() ? "" : " ",
                                        to_string(record.address), visible(record.clean_step));
  std::string told = fmt::format("{:3.0f}%", record.progress_percent);
  if (record.progress_eta_s >= 0) told += fmt::format(", about {} s left", record.progress_eta_s);
  // The message is shown on one line, whatever is written there.
  const std::string& words = record.progress_message;
  if (!words.empty()) told += ' ' + printable_excerpt(words, kWordsBytesMax);
  std::size_t bar = kBarWidth;
  if (width > 0) {
    const std::size_t taken = display_width(place + " [] " + told);
    bar = std::clamp(width - std::min(width, taken), kBarWidthMin, kBarWidth);
  }
  const double share = std::clamp(record.progress_percent / 100.0, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(bar));
  std::string line = fmt::format("{} [{}{}] {}", place, std::string(full, '#'),
                                 std::string(bar - full, '.'), told);
  return width < kColumnMin ? line : wrap(line, width).front();
}

}  // namespace reclaim::cli
