// Whatever a server, or somebody between, writes on a connection to Redis: it is a reply to what
// was asked, or the end of the connection, and never that of the process. The first byte says how
// many commands were asked.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "state/base/check.h"
#include "state/redis/link.h"
#include "tests/temp_folder.h"

namespace reclaim {
namespace {

constexpr std::size_t kAskedMax = 4;
constexpr std::size_t kReplyBytesMax = 4'096;
constexpr std::size_t kReplyElementsMax = 64;
constexpr int kTurnsMax = 16;

// Where the links connect to.
class Listener final {
 public:
  Listener() : path_(std::string(folder_.path()) + "/redis") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHECK(path_.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(fd_, 16) == 0);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int accept() const { return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }

 private:
  TempFolder folder_;
  std::string path_;
  int fd_ = -1;
};

void answer(const Listener& listener, std::size_t asked, std::string_view bytes) {
  uv::Loop loop;
  std::size_t arrived = 0;
  RedisLink* open = nullptr;
  auto link = RedisLink::open(loop.raw(), RedisTarget{"", 0, listener.path()}, nullptr,
                              kReplyBytesMax, kReplyElementsMax, [&] {
                                for (const RedisArrival& arrival : open->take_arrivals()) {
                                  arrived += 1;
                                  CHECK(arrival.ticket == arrived);
                                }
                              });
  CHECK(link.ok());
  open = link->get();
  const int peer = listener.accept();
  CHECK(peer >= 0);
  for (std::uint64_t ticket = 1; ticket <= asked; ++ticket) {
    CHECK(open->send({"PING"}, ticket));
  }
  if (!bytes.empty()) {
    CHECK(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  ::shutdown(peer, SHUT_WR);
  for (int turn = 0; turn < kTurnsMax && !open->closed(); ++turn) {
    uv_run(loop.raw(), UV_RUN_NOWAIT);
  }
  CHECK(arrived <= asked);
  CHECK(open->closed() && !open->closed_why().empty());
  link->reset();
  ::close(peer);
}

}  // namespace
}  // namespace reclaim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const reclaim::Listener listener;
  if (size == 0 || size > 16'384) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  reclaim::answer(listener, data[0] % reclaim::kAskedMax, bytes.substr(1));
  return 0;
}
