// reclaim watch: the journal of a host as it is written, and the progress of what runs.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "state/base/log.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kLookEveryMs = 200;
constexpr std::size_t kLinesAtOnceMax = 500;
constexpr int kBarWidth = 30;
constexpr std::size_t kWordsBytesMax = 60;  // of a step's message

std::string clock_time(WallMs at) {
  return to_iso8601(at).substr(11, 8);
}

std::string line_of(const JournalEntry& entry) {
  const std::string moved =
      entry.from == entry.to ? entry.trigger : fmt::format("{} -> {}", entry.from, entry.to);
  return visible(fmt::format("{} {} {:<34} {}{}{}", clock_time(entry.at), entry.address, moved,
                             entry.why, entry.detail.empty() ? "" : "; ", entry.detail));
}

std::string bar_of(const Record& record) {
  const double share = std::clamp(record.progress_percent / 100.0, 0.0, 1.0);
  const int full = static_cast<int>(share * kBarWidth);
  std::string eta;
  if (record.progress_eta_s >= 0) eta = fmt::format(", about {} s left", record.progress_eta_s);
  // Of one line, whatever is written there.
  const std::string& words = record.progress_message;
  return fmt::format("{} {} [{}{}] {:3.0f}%{}{}{}", to_string(record.address),
                     visible(record.clean_step), std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kBarWidth - full), '.'),
                     record.progress_percent, eta, words.empty() ? "" : " ",
                     printable_excerpt(words, kWordsBytesMax));
}

// Draws the bars of what is being erased and of operators' steps that say what they do: over each
// other on a terminal, elsewhere a line each tenth and each message.
class ProgressLine final {
 public:
  explicit ProgressLine(std::ostream& out) : out_(out), terminal_(isatty(STDOUT_FILENO) != 0) {}

  void show(const std::vector<Record>& records) {
    for (const Record& record : records) {
      if (record.stage != Stage::erasing && record.progress_message.empty()) {
        drawn_of_.erase(record.address);
        continue;
      }
      if (terminal_) {
        out_ << "\r\033[K" << bar_of(record) << std::flush;
        drawn_ = true;
        continue;
      }
      const int tenth = static_cast<int>(record.progress_percent / 10);
      const std::string now = fmt::format("{} {}", tenth, record.progress_message);
      if (std::exchange(drawn_of_[record.address], now) == now) continue;
      out_ << bar_of(record) << '\n' << std::flush;
    }
  }

  void clear() {
    if (drawn_) out_ << "\r\033[K";
    drawn_ = false;
  }

 private:
  std::ostream& out_;
  bool terminal_;
  bool drawn_ = false;
  std::map<PciAddress, std::string> drawn_of_;  // tenth and message
};

bool idle(const std::vector<Record>& records) {
  return std::none_of(records.begin(), records.end(), [](const Record& record) {
    return is_busy(record.stage) || record.stage == Stage::pending_cleaning;
  });
}

}  // namespace

int run_watch(Session& session, const WatchOptions& options, std::ostream& out, std::ostream& err) {
  const std::string host = options.host.empty() ? session.settings().host : options.host;
  auto store = session.store();
  if (!store) {
    err << "reclaim: " << store.error().what << '\n';
    return 1;
  }
  ProgressLine progress(out);
  std::string after = options.from_start ? "0-0" : "$";
  const std::int64_t begun = session.clock().now().mono.ms;
  bool worked = false;
  for (;;) {
    const auto journal = session.wait<JournalPage>(
        [&](auto done) { (*store)->read_journal(host, after, kLinesAtOnceMax, std::move(done)); });
    const auto records = session.wait<std::vector<Record>>(
        [&](auto done) { (*store)->load(host, std::move(done)); });
    if (!journal || !records) {
      progress.clear();
      err << "reclaim: " << visible(journal ? records.error().what : journal.error().what) << '\n';
      return 1;
    }
    for (const JournalEntry& entry : journal->entries) {
      progress.clear();
      out << line_of(entry) << '\n' << std::flush;
      worked = worked || entry.trigger == "released" || entry.trigger == "released_taken" ||
               entry.trigger == "handed_over" || entry.to == "error";
    }
    after = journal->last_id;
    progress.show(*records);
    if (options.until_idle && worked && journal->entries.empty() && idle(*records)) return 0;
    const std::int64_t spent = session.clock().now().mono.ms - begun;
    if (options.timeout_s > 0 && spent > static_cast<std::int64_t>(options.timeout_s) * 1000) {
      progress.clear();
      err << fmt::format("reclaim: nothing more within {} s\n", options.timeout_s);
      return 1;
    }
    if (journal->entries.size() < kLinesAtOnceMax) {
      session.run_until([] { return false; }, kLookEveryMs);
    }
  }
}

}  // namespace reclaim::cli
