// reclaim qualify: every erase method of a spare drive is tried over a pattern, and judged.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/device_lock.h"
#include "cli/interruptible_work.h"
#include "cli/progress_line.h"
#include "cli/qualify_order.h"
#include "cli/qualify_report.h"
#include "cli/qualify_stages.h"
#include "cli/qualify_standing.h"
#include "cli/qualify_state.h"
#include "nvme/controller/buffer.h"
#include "nvme/host/signatures.h"
#include "nvme/qualify/media.h"
#include "nvme/qualify/trial.h"
#include "version.h"

namespace reclaim::cli {
namespace {

using nvme::EraseMethod;
using nvme::StopFlag;

constexpr int kNotRecommended = 3;  // exit code
constexpr std::int64_t kUnseenMaxMs = 60'000;
constexpr std::int64_t kAskAgainMs = 1'000;
constexpr std::string_view kAgain =
    "run the same command again to go on, or erase the drive yourself: it is not erased";
// Somebody may use it by now.
constexpr std::string_view kLeaveIt =
    "do not touch the drive: reserve it in Placement and let the worker clean it (`reclaim device "
    "set ADDRESS --enrol`, or the end of its maintenance)";

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) : std::string();
}

// One run, up to a report or to what keeps it from one.
class Qualifier final {
 public:
  Qualifier(Session& session, const PciAddress& address, std::string serial, std::ostream& err)
      : session_(session),
        address_(address),
        serial_(std::move(serial)),
        err_(err),
        state_(session.settings().state_path, serial_),
        progress_(err),
        work_(
            session,
            [this] {
              progress_.clear();
              err_ << "stopping: what the drive does is left as soon as it can be\n" << std::flush;
            },
            [this] { watch(); }) {}

  // `wanted`: empty: all that the drive can.
  Result<nvme::Qualification> run(const std::vector<EraseMethod>& wanted) {
    Status done = begin();
    if (done) done = ask(wanted);
    if (done) done = make_known();
    for (const EraseMethod method : methods_) {
      if (done && !is_lost()) done = try_method(method);
    }
    if (done && is_lost()) {
      whole_.last_erase.text =
          "the drive did not come back from a reset; power it off and on, and erase it";
    } else if (done) {
      done = erase_at_end();
    }
    progress_.clear();
    if (!done && changed_ && done.error().what != changed_->what) {
      done = Error{changed_->code, changed_->what + "; " + done.error().what, changed_->raw};
    }
    if (!done) return written_ ? say_what_is_left(done.error()) : std::move(done).error();
    whole_.conclusion = nvme::judge(whole_);
    whole_.ended_at = session_.clock().now().wall;
    return whole_;
  }
  // Once the report is out.
  void forget() const { state_.remove(); }

 private:
  template <typename T>
  Result<T> job(const std::function<Result<T>(StopFlag&)>& what) {
    return work_.run<T>(what);
  }
  Status job(const std::function<Status(StopFlag&)>& what) { return work_.run<Ok>(what); }

  Status begin();
  Status permit();
  Status permit_stage();
  Status claim();
  Status look_before_writing();
  Status look_past_a_failed_sanitize(const Error& unread);
  [[nodiscard]] Status refuse_found(const std::vector<std::string>& found) const;
  Status ask(const std::vector<EraseMethod>& wanted);
  Status make_known();
  void watch();
  void stop_because(const Error& error);
  Status begin_writing();
  Status try_method(EraseMethod method);
  Status run_stages(nvme::Trial& trial);
  Status erase_at_end();
  Result<nvme::LastErase> run_last_erase(const nvme::EntryRules& entry);
  // True if the reset of the trial before lost the drive: nothing more can be tried, nor erased.
  [[nodiscard]] bool is_lost() const {
    return !whole_.trials.empty() && whole_.trials.back().reset_failed;
  }
  [[nodiscard]] bool is_of_the_drive(const Error& error) const;
  [[nodiscard]] Error say_what_is_left(const Error& error) const;
  [[nodiscard]] nvme::ReportTrial report_of(EraseMethod method);

  Session& session_;
  PciAddress address_;
  std::string serial_;
  std::ostream& err_;
  QualifyState state_;
  ProgressLine progress_;
  QualifyStanding standing_;
  nvme::Qualification whole_;
  std::vector<EraseMethod> methods_;  // to be tried in this run
  bool fresh_ = true;                 // nothing was written by an earlier run
  bool unpermitted_ = false;          // a stage did not begin, which tells nothing of the drive
  bool written_ = false;              // by this or an earlier run
  std::unique_ptr<DeviceLock> lock_;
  bool watched_ = false;          // every look has to find it as it was
  bool known_ = false;            // to its worker, as dirty
  MonoMs seen_at_;                // it was as it was
  std::optional<Error> changed_;  // why the run was ended between two commands
  std::unique_ptr<nvme::DriveContext> drive_;
  InterruptibleWork work_;  // last: its thread uses the drive
};

Status Qualifier::begin() {
  auto standing = standing_for_qualify(session_, address_, serial_);
  if (!standing) return std::move(standing).error();
  standing_ = *std::move(standing);
  const auto machine = session_.machine();
  if (!machine) return machine.error();
  const auto options = config::conductor_options(session_.settings(), *machine, kVersion);
  auto lock =
      DeviceLock::take(session_, address_,
                       fmt::format("reclaim qualify on {}, process {}", options.host, ::getpid()),
                       options.lock_ttl_ms, [this] {
                         stop_because(Error{Errc::refused, "another one took its lock in Redis"});
                       });
  if (!lock) return std::move(lock).error();
  lock_ = *std::move(lock);
  seen_at_ = session_.clock().now().mono;
  watched_ = true;
  auto earlier = state_.load();
  if (!earlier) return std::move(earlier).error();
  if (*earlier) {
    whole_ = *std::move(*earlier);
    whole_.address = to_string(address_);
    fresh_ = whole_.nonces.empty();
    written_ = !fresh_;
    say(err_,
        fmt::format("going on with what was begun at {}; to begin from the start, remove {}, and "
                    "the patterns from the drive with `blkdiscard -z`",
                    to_iso8601(whole_.began_at), state_.path()));
  } else {
    whole_.tool_version = kVersion;
    whole_.kernel = kernel_release();
    whole_.address = to_string(address_);
    whole_.began_at = session_.clock().now().wall;
  }
  if (auto claimed = claim(); !claimed) return claimed;
  if (auto whole = drive_->claim.whole(); !whole) {
    return Error{Errc::refused,
                 fmt::format("{} is not qualified: {}", to_string(address_), whole.error().what)};
  }
  return look_before_writing();
}

// Looks again as a cleaning does: with the claim taken, and before each command that destroys.
Status Qualifier::permit() {
  if (changed_) return *changed_;
  if (work_.cancelled()) return Error{Errc::cancelled, "interrupted"};
  const auto standing = standing_for_qualify(session_, address_, serial_);
  if (!standing) {
    return standing.error().code == Errc::refused
               ? standing.error().wrap("it is not as it was when this began")
               : standing.error();
  }
  if (standing->has_provider != standing_.has_provider) {
    return Error{Errc::refused, standing->has_provider ? "Placement has a provider for it now"
                                                       : "its provider in Placement is gone"};
  }
  if (known_ && !standing->known_to_get_dirty) {
    return Error{Errc::refused,
                 "its record does not wait for a cleaning any more, in maintenance and with "
                 "nothing begun"};
  }
  seen_at_ = session_.clock().now().mono;
  return Ok{};
}

// Waits before a stage for an answer that does not come, as long as while one runs.
Status Qualifier::permit_stage() {
  const std::int64_t began_ms = session_.clock().now().mono.ms;
  for (;;) {
    const Status permitted = permit();
    const bool final = permitted || work_.cancelled() || permitted.error().code == Errc::refused ||
                       session_.clock().now().mono.ms - began_ms >= kUnseenMaxMs;
    unpermitted_ = !permitted;
    if (final) return permitted;
    session_.run_until([this] { return work_.cancelled(); }, kAskAgainMs);
  }
}

// While a job runs. An answer that does not come is waited for, but not for long.
void Qualifier::watch() {
  if (!watched_ || work_.cancelled()) return;
  const Status same = permit();
  if (same || work_.cancelled()) return;
  const std::int64_t unseen_ms = session_.clock().now().mono.ms - seen_at_.ms;
  if (same.error().code != Errc::refused && unseen_ms < kUnseenMaxMs) return;
  stop_because(same.error());
}

void Qualifier::stop_because(const Error& error) {
  changed_ = error;
  work_.cancel();
}

// Makes the drive known as dirty: from here on a maintenance that ends leads to a whole cleaning,
// whatever becomes of this run.
Status Qualifier::make_known() {
  if (!standing_.has_provider) return Ok{};
  if (auto told = tell_worker(session_, address_, [this] { return work_.cancelled(); }); !told) {
    return told;
  }
  known_ = true;
  return permit();
}

Status Qualifier::claim() {
  nvme::ClaimRequest request = standing_.request;
  request.rules = nvme::rules_for_trials();
  return job([this, request](StopFlag& stop) -> Status {
    auto claim =
        nvme::Claim::create(session_.settings().nvme, request, nullptr, stop, session_.log());
    if (!claim) return std::move(claim).error();
    drive_ = std::make_unique<nvme::DriveContext>(nvme::DriveContext{
        session_.settings().nvme, *std::move(claim), session_.clock(), session_.log()});
    return nvme::settle(*drive_, stop);
  });
}

// Looks for signatures, in a run that goes on as well: who knows what became of the drive since. It
// has our patterns then, and where a sanitize of it failed its edges may be unreadable.
Status Qualifier::look_before_writing() {
  if (standing_.has_provider) return Ok{};
  const auto found = job<std::vector<std::string>>([this](StopFlag& stop) {
    return nvme::find_signatures(
        session_.settings().nvme, address_, stop,
        fresh_ ? nvme::Edges::have_to_be_blank : nvme::Edges::have_to_be_read);
  });
  if (!found) return fresh_ ? Status(found.error()) : look_past_a_failed_sanitize(found.error());
  return refuse_found(*found);
}

Status Qualifier::look_past_a_failed_sanitize(const Error& unread) {
  const auto barred =
      job<bool>([this](StopFlag& /*stop*/) { return nvme::is_barred_by_sanitize(*drive_); });
  if (!barred) return barred.error();
  if (!*barred) return unread;
  const auto found = job<std::vector<std::string>>([this](StopFlag& stop) {
    return nvme::find_signatures(session_.settings().nvme, address_, stop,
                                 nvme::Edges::may_be_barred);
  });
  if (!found) return found.error();
  return refuse_found(*found);
}

Status Qualifier::refuse_found(const std::vector<std::string>& found) const {
  if (found.empty()) return Ok{};
  return Error{Errc::refused,
               fmt::format("{} is not qualified: it is unknown to Placement, and has something on "
                           "it ({}); if nobody needs that, remove it with `wipefs -a`, and data "
                           "without a signature with `blkdiscard -z`",
                           to_string(address_), fmt::join(found, ", "))};
}

Status Qualifier::ask(const std::vector<EraseMethod>& wanted) {
  auto says = job<nvme::DriveSays>([this](StopFlag& /*stop*/) { return nvme::ask_drive(*drive_); });
  if (!says) return says.error();
  says->managed = standing_.request.managed;
  nvme::DriveSays& known = whole_.drive;
  if (fresh_) known = *says;
  if (known.model != says->model || known.firmware != says->firmware ||
      known.capacity_bytes != says->capacity_bytes) {
    return Error{Errc::refused,
                 fmt::format("{} was begun with {} firmware {}, {} bytes, and the drive is {} "
                             "firmware {}, {} bytes: remove the file to begin from the start",
                             state_.path(), known.model, known.firmware, known.capacity_bytes,
                             says->model, says->firmware, says->capacity_bytes)};
  }
  const auto can = nvme::methods_of(known.capabilities);
  std::vector<std::string_view> names;
  names.reserve(can.size());
  for (const EraseMethod each : can) names.push_back(nvme::to_string(each));
  for (const EraseMethod each : wanted) {
    if (std::find(can.begin(), can.end(), each) != can.end()) continue;
    return Error{Errc::invalid,
                 fmt::format("--method {}: this drive does not support it; it supports: {}",
                             nvme::to_string(each), fmt::join(names, ", "))};
  }
  for (const EraseMethod each : wanted.empty() ? can : wanted) {
    const nvme::Trial* trial = whole_.find(each);
    if (trial == nullptr || !trial->finished) methods_.push_back(each);
  }
  return Ok{};
}

nvme::ReportTrial Qualifier::report_of(EraseMethod method) {
  return [this, method](std::string_view doing, const nvme::EraseProgress& now) {
    work_.tell([this, method, doing = std::string(doing), now] {
      Record shown;
      shown.address = address_;
      shown.stage = Stage::erasing;
      shown.clean_step = nvme::to_string(method);
      shown.progress_percent = now.percent;
      shown.progress_eta_s = now.eta_s;
      shown.progress_message = doing;
      progress_.show("", {shown});
    });
  };
}

// Permitted, and remembered before the first command that writes, so that no later run takes what
// it wrote for anything else, nor a drive that was refused for one of ours.
Status Qualifier::begin_writing() {
  if (auto permitted = permit_stage(); !permitted) return permitted;
  std::uint64_t nonce = 0;
  if (auto random = nvme::fill_random(std::as_writable_bytes(std::span(&nonce, 1))); !random) {
    return random;
  }
  whole_.nonces.push_back(nonce);
  if (auto saved = state_.save(whole_); !saved) return saved;
  written_ = true;
  return Ok{};
}

Status Qualifier::try_method(EraseMethod method) {
  std::erase_if(whole_.trials, [method](const nvme::Trial& t) { return t.method == method; });
  whole_.trials.emplace_back().method = method;
  if (auto begun = begin_writing(); !begun) return begun;
  nvme::Trial& trial = whole_.trials.back();
  const Status ended = run_stages(trial);
  if (!ended && !is_of_the_drive(ended.error())) return ended;
  if (!ended) trial.failure = ended.error().what;
  trial.finished = true;
  return state_.save(whole_);
}

Status Qualifier::run_stages(nvme::Trial& trial) {
  const auto report = report_of(trial.method);
  const auto patterns = whole_.patterns();
  const auto stage = [this](std::function<Status(StopFlag&)> what) {
    return [this, what = std::move(what)] { return job(what); };
  };
  return run_permitted([this] { return permit_stage(); },
                       {stage([&](StopFlag& stop) {
                          return nvme::lift_failed_sanitize(*drive_, trial.method, report, stop);
                        }),
                        stage([&](StopFlag& stop) {
                          return nvme::prepare_trial(*drive_, trial, patterns, report, stop);
                        }),
                        stage([&](StopFlag& stop) {
                          return nvme::run_trial(*drive_, trial, patterns, report, stop);
                        })});
}

Status Qualifier::erase_at_end() {
  const nvme::EntryRules entry = nvme::rules_for_last_erase(whole_);
  if (auto begun = begin_writing(); !begun) return begun;
  auto last = run_last_erase(entry);
  if (last) {
    whole_.last_erase = *std::move(last);
    return Ok{};
  }
  if (!is_of_the_drive(last.error())) return last.error();
  whole_.last_erase =
      nvme::LastErase{std::string(nvme::to_string(entry.method)), false, last.error().what, 0};
  return Ok{};
}

Result<nvme::LastErase> Qualifier::run_last_erase(const nvme::EntryRules& entry) {
  const auto report = report_of(entry.method);
  const nvme::Pattern pattern = whole_.patterns().back();
  drive_->claim.replace_rules(entry.rules);
  std::optional<nvme::Baseline> baseline;
  std::optional<nvme::LastErase> last;
  const Status done =
      run_permitted([this] { return permit_stage(); },
                    {[&] {
                       return job([&](StopFlag& stop) {
                         return nvme::lift_failed_sanitize(*drive_, entry.method, report, stop);
                       });
                     },
                     [&]() -> Status {
                       auto taken = job<nvme::Baseline>([&](StopFlag& stop) {
                         return nvme::prepare_last_erase(*drive_, pattern, report, stop);
                       });
                       if (!taken) return std::move(taken).error();
                       baseline = *std::move(taken);
                       return Ok{};
                     },
                     [&]() -> Status {
                       auto erased = job<nvme::LastErase>([&](StopFlag& stop) {
                         return nvme::erase_at_end(*drive_, entry.method, *baseline, report, stop);
                       });
                       if (!erased) return std::move(erased).error();
                       last = *std::move(erased);
                       return Ok{};
                     }});
  if (!done) return done.error();
  return *std::move(last);
}

// A guard, a word to stop, or who could not be asked, tells nothing of the drive.
bool Qualifier::is_of_the_drive(const Error& error) const {
  return !unpermitted_ && !work_.cancelled() && error.code != Errc::cancelled &&
         error.code != Errc::refused && error.code != Errc::busy;
}

Error Qualifier::say_what_is_left(const Error& error) const {
  const bool of_another =
      error.code == Errc::refused || error.code == Errc::conflict || error.code == Errc::busy;
  return Error{error.code,
               fmt::format("{}; test patterns are on the drive, whole or in part; {}", error.what,
                           of_another ? kLeaveIt : kAgain),
               error.raw};
}

// Takes the serial number from --serial or the terminal, as the drive's label has it. It is not
// shown here, so that a slip of the address is noticed.
Result<std::string> serial_of(const QualifyOptions& options, const PciAddress& address,
                              std::ostream& err) {
  if (!options.serial.empty()) return options.serial;
  if (isatty(STDIN_FILENO) == 0) {
    return Error{Errc::usage,
                 "--serial is needed where nobody can type it: the serial number of "
                 "the drive that is going to be erased"};
  }
  err << fmt::format(
             "Everything on the drive at {} is going to be erased, several times.\nType its "
             "serial number to go on: ",
             to_string(address))
      << std::flush;
  std::string typed;
  std::getline(std::cin, typed);
  if (!typed.empty()) return typed;
  return Error{Errc::cancelled, "nothing was typed, and nothing was done"};
}

Result<std::vector<EraseMethod>> methods_named(const QualifyOptions& options) {
  std::vector<EraseMethod> methods;
  for (const std::string& name : options.methods) {
    const auto method = nvme::parse_erase_method(name);
    if (!method) return Error{Errc::usage, method.error().wrap("--method").what};
    methods.push_back(*method);
  }
  return methods;
}

Status write_file(const std::string& path, const std::string& text,
                  std::ios::openmode how = std::ios::trunc) {
  std::ofstream file(path, std::ios::binary | how);
  file << text;
  file.close();
  if (file) return Ok{};
  return Error{Errc::failed,
               fmt::format("--report: cannot write {}; name a folder that is there", path)};
}

// Made to see that it can be, and removed unless a report comes into it.
class ReportFile final {
 public:
  explicit ReportFile(std::string path)
      : path_(std::move(path)), was_there_(path_.empty() || ::access(path_.c_str(), F_OK) == 0) {}
  ~ReportFile() {
    if (!was_there_) static_cast<void>(::unlink(path_.c_str()));
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  [[nodiscard]] Status make() const {
    return path_.empty() ? Status(Ok{}) : write_file(path_, "", std::ios::app);
  }
  void keep() { was_there_ = true; }

 private:
  std::string path_;
  bool was_there_;
};

Status write_reports(const nvme::Qualification& whole, const QualifyOptions& options,
                     std::ostream& out) {
  const std::string json = nvme::encode_qualification(whole) + "\n";
  if (options.report.empty()) {
    out << (options.format == "json"   ? json
            : options.format == "html" ? qualification_page(whole)
                                       : qualification_text(whole, options.width));
    return Ok{};
  }
  out << qualification_text(whole, options.width);
  if (auto written = write_file(options.report + ".txt", qualification_text(whole, 0)); !written) {
    return written;
  }
  if (auto written = write_file(options.report + ".json", json); !written) return written;
  return write_file(options.report + ".html", qualification_page(whole));
}

}  // namespace

int run_qualify(Session& session, const QualifyOptions& options, std::ostream& out,
                std::ostream& err) {
  auto address = parse_pci_address(options.address);
  if (!address) address = parse_pci_address("0000:" + options.address);
  if (!address) {
    return complain(err, Error{Errc::usage, fmt::format("'{}' is not a PCI address like "
                                                        "0000:c1:00.0",
                                                        options.address)});
  }
  // The report's file is tried now, not only after days.
  ReportFile report(options.report.empty() ? "" : options.report + ".json");
  if (auto possible = report.make(); !possible) return complain(err, possible.error());
  const auto methods = methods_named(options);
  if (!methods) return complain(err, methods.error());
  const auto serial = serial_of(options, *address, err);
  if (!serial) return complain(err, serial.error());
  Qualifier qualifier(session, *address, *serial, err);
  const auto whole = qualifier.run(*methods);
  if (!whole) return complain(err, whole.error());
  report.keep();
  if (auto written = write_reports(*whole, options, out); !written) {
    return complain(err, written.error());
  }
  qualifier.forget();
  return whole->conclusion.device_spec.empty() || !whole->last_erase.verified ? kNotRecommended : 0;
}

}  // namespace reclaim::cli
