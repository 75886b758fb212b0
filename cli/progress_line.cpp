#include "cli/progress_line.h"

#include <fmt/core.h>

#include <ostream>

#include "cli/complain.h"
#include "cli/progress_bar.h"

namespace reclaim::cli {

ProgressLine::ProgressLine(std::ostream& out) : out_(out), width_(line_width(out)) {}

void ProgressLine::show(const std::string& host, const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (record.stage != Stage::erasing && record.progress_message.empty()) {
      drawn_of_.erase({host, record.address});
      continue;
    }
    if (width_ > 0) {
      out_ << "\r\033[K" << progress_bar(host, record, width_) << std::flush;
      drawn_ = true;
      continue;
    }
    const int tenth = static_cast<int>(record.progress_percent / 10);
    const std::string now = fmt::format("{} {}", tenth, record.progress_message);
    if (std::exchange(drawn_of_[{host, record.address}], now) == now) continue;
    out_ << progress_bar(host, record) << '\n' << std::flush;
  }
}

void ProgressLine::clear() {
  if (drawn_) out_ << "\r\033[K";
  drawn_ = false;
}

}  // namespace reclaim::cli
