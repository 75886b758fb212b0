#include "nvme/command/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "nvme/command/confine.h"

namespace reclaim::nvme {
namespace {

constexpr rlim_t kFilesMax = 1024;
constexpr int kKillTries = 100;
constexpr int kKillPauseMs = 10;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Errc::failed, fmt::format("no pipe: {}", std::strerror(errno)), errno};
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A file in memory, so that a step which does not read what it is told keeps nobody.
UniqueFd file_of(const std::string& text) {
  UniqueFd file(::memfd_create("step-input", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != size ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return UniqueFd();
  }
  return file;
}

bool write_text(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A cgroup below this process's own; empty: there is none, or it cannot be made.
std::string make_cgroup(const CommandOptions& options) {
  static std::atomic<unsigned> made{0};
  if (options.cgroup.empty()) return {};
  std::string path = fmt::format("{}/step-{}-{}", options.cgroup, ::getpid(), made++);
  return ::mkdir(path.c_str(), 0755) == 0 ? path : std::string();
}

// Everything that the child needs, made before the fork: behind it, in a process with other
// threads, only async-signal-safe calls are allowed (fork(2)), and no memory may be asked for.
struct Plan {
  const char* path;
  const char* argument;  // nullptr: none
  int input;
  int output;
  int errors;
  int failure;  // closed by exec; an errno is written to it otherwise
  int procs;    // cgroup.procs of the child's own cgroup, or -1
  bool network;
  pid_t parent;
};

[[noreturn]] void give_up(const Plan& plan) {
  const int why = errno;
  (void)!::write(plan.failure, &why, sizeof why);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) (void)::sigaction(number, &plain, nullptr);
  sigset_t none;
  (void)::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_child(const Plan& plan) {
  if (::setpgid(0, 0) != 0) give_up(plan);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(plan);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before that
  if (plan.procs >= 0 && ::write(plan.procs, "0", 1) != 1) give_up(plan);
  if (::dup2(plan.input, STDIN_FILENO) < 0 || ::dup2(plan.output, STDOUT_FILENO) < 0 ||
      ::dup2(plan.errors, STDERR_FILENO) < 0) {
    give_up(plan);
  }
  const rlimit core{0, 0};
  const rlimit files{kFilesMax, kFilesMax};
  if (::setrlimit(RLIMIT_CORE, &core) != 0) give_up(plan);
  (void)::setrlimit(RLIMIT_NOFILE, &files);
  // All descriptors are closed but the three standard ones, and the pipe that tells of a failure,
  // which exec closes.
  if (plan.failure != 3 && ::dup3(plan.failure, 3, O_CLOEXEC) < 0) give_up(plan);
  Plan now = plan;
  now.failure = 3;
  if (::close_range(4, ~0U, 0) != 0) give_up(now);
  if (::chdir("/") != 0) give_up(now);
  (void)::umask(077);
  reset_signals();
  if (!confine(plan.network)) give_up(now);
  std::array<char*, 3> arguments{const_cast<char*>(plan.path), const_cast<char*>(plan.argument),
                                 nullptr};
  static constexpr char kPath[] =
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  static constexpr char kLang[] = "LANG=C.UTF-8";
  std::array<char*, 3> environment{const_cast<char*>(kPath), const_cast<char*>(kLang), nullptr};
  (void)::execve(plan.path, arguments.data(), environment.data());
  give_up(now);
}

}  // namespace

Result<CommandChild> CommandChild::start(const CommandOptions& options, const Command& command) {
  const UniqueFd in = file_of(command.input.empty() ? "" : command.input + "\n");
  if (!in.valid()) return Error{Errc::failed, "no memory for its input"};
  auto out = make_pipe();
  auto err = make_pipe();
  auto failure = make_pipe();
  for (const auto* pipe : {&out, &err, &failure}) {
    if (!*pipe) return pipe->error();
  }
  const std::string cgroup = make_cgroup(options);
  UniqueFd procs;
  if (!cgroup.empty()) {
    procs = UniqueFd(::open((cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  }
  const Plan plan{command.path.c_str(),
                  command.argument.empty() ? nullptr : command.argument.c_str(),
                  in.get(),
                  out->write.get(),
                  err->write.get(),
                  failure->write.get(),
                  procs.valid() ? procs.get() : -1,
                  command.network,
                  ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  if (pid < 0) {
    const int why = errno;
    if (!cgroup.empty()) (void)::rmdir(cgroup.c_str());
    return Error{Errc::failed, fmt::format("no process for it: {}", std::strerror(why)), why};
  }
  (void)::setpgid(pid, pid);  // whichever of the two comes first
  CommandChild child(pid, cgroup);
  out->write.reset();
  err->write.reset();
  failure->write.reset();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure->read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got != 0) {
    child.kill();
    return Error{Errc::failed,
                 fmt::format("cannot be run: {}{}", std::strerror(why),
                             why == ENOENT ? "; does its first line name an interpreter that "
                                             "exists?"
                                           : ""),
                 why};
  }
  child.output = std::move(out->read);
  child.errors = std::move(err->read);
  for (const UniqueFd* end : {&child.output, &child.errors}) {
    (void)::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }
  return child;
}

CommandChild::CommandChild(CommandChild&& other) noexcept
    : output(std::move(other.output)),
      errors(std::move(other.errors)),
      pid_(std::exchange(other.pid_, -1)),
      cgroup_(std::move(other.cgroup_)) {}

CommandChild::~CommandChild() {
  kill();
}

std::optional<int> CommandChild::ended() const {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  const int code = info.si_status;
  return info.si_code == CLD_EXITED ? (code & 0xff) << 8 : code & 0x7f;
}

void CommandChild::terminate() const {
  (void)::kill(-pid_, SIGTERM);
}

void CommandChild::kill() {
  if (pid_ < 0) return;
  (void)::kill(-pid_, SIGKILL);
  if (!cgroup_.empty()) (void)write_text(cgroup_ + "/cgroup.kill", "1");
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (cgroup_.empty()) return;
  // The processes that were in the cgroup may take a moment to be gone.
  for (int i = 0; i < kKillTries && ::rmdir(cgroup_.c_str()) != 0 && errno == EBUSY; ++i) {
    (void)::poll(nullptr, 0, kKillPauseMs);
  }
}

}  // namespace reclaim::nvme
