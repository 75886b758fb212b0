// A Keystone and a Placement for a fleet, in one HTTP server that counts: what the worker's client
// asks of them, with the generations of the real one (openstack/placement: inventories and new
// allocations move a provider's, deleted allocations do not). In memory, quicker than the real one:
// it measures what is asked, and not how long Placement takes.
//
// Thread: one of its own; the methods are for the bench's and block until that one has done it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "listener/http/server.h"
#include "tests/integration/http_harness.h"

namespace reclaim::fleet {

// A drive of the fleet: which host, which of its drives.
struct Place {
  std::size_t host = 0;
  std::size_t drive = 0;
};

[[nodiscard]] std::string host_name(std::size_t host);
// The instance that has it, while one does.
[[nodiscard]] std::string consumer_of(std::size_t host, std::size_t drive);

// Requests by kind ("inventories"), and how many there were in each second since the start.
struct Asked {
  std::map<std::string, std::uint64_t> kinds;
  std::vector<std::uint64_t> by_second;  // of Placement alone
  [[nodiscard]] std::uint64_t placement() const;
  [[nodiscard]] std::uint64_t keystone() const;
};

class CountingPlacement final {
 public:
  // Called on its thread when a worker has made a device available.
  using Released = std::function<void(const Place&)>;
  CountingPlacement(std::size_t hosts, std::size_t drives, Released on_released);
  ~CountingPlacement();
  CountingPlacement(const CountingPlacement&) = delete;
  CountingPlacement& operator=(const CountingPlacement&) = delete;

  [[nodiscard]] std::string url() const { return url_; }
  // Nova gives a device to an instance and burns it; and takes the instance away.
  void allocate(const std::vector<Place>& places);
  void deallocate(const std::vector<Place>& places);
  [[nodiscard]] Asked asked();
  // Hosts whose tree was listed since the last forget_listed().
  [[nodiscard]] std::size_t listed();
  void forget_listed();

 private:
  struct Provider {
    std::int64_t generation = 1;
    bool allocated = false;
    bool reserved = false;
  };
  struct Host {
    std::vector<Provider> providers;
    bool listed = false;
  };

  [[nodiscard]] api::Response answer(const api::Request& request);
  [[nodiscard]] api::Response list(std::string_view query);
  [[nodiscard]] api::Response of_consumer(std::string_view uuid);
  [[nodiscard]] api::Response of_provider(const api::Request& request, std::string_view path);
  [[nodiscard]] api::Response put_inventory(const api::Request& request, const Place& place);
  [[nodiscard]] std::string allocations_of(std::size_t host, std::size_t from,
                                           std::size_t upto) const;
  void count(const std::string& kind);

  std::vector<Host> hosts_;
  Released on_released_;
  Asked asked_;
  std::uint64_t began_ns_ = 0;
  std::string url_;
  SystemClock clock_;
  NullLogger log_;
  testing::LoopThread thread_;
  std::unique_ptr<listener::HttpServer> server_;
};

}  // namespace reclaim::fleet
