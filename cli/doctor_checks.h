// The lines of `reclaim doctor`, and those of its checks that stand in files of their own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/format.h"
#include "cli/session.h"
#include "nvme/controller/facts.h"
#include "nvme/options.h"
#include "placement/cyborg/accelerators.h"
#include "placement/providers.h"
#include "state/base/bus_queue.h"
#include "state/base/clock.h"
#include "state/device/store.h"
#include "state/redis/calls.h"
#include "state/redis/options.h"
#include "state/redis/redis.h"
#include "state/redis/slots.h"
#include "state/redis/tls.h"

namespace reclaim::cli {

// The folders where udev looks for rules, the one that counts most first (udev(7)).
inline const std::vector<std::string> kUdevFolders = {"/etc/udev/rules.d", "/run/udev/rules.d",
                                                      "/usr/local/lib/udev/rules.d",
                                                      "/usr/lib/udev/rules.d", "/lib/udev/rules.d"};

struct DoctorRow {
  std::string check;
  std::string result;
  std::string detail;
  std::string remedy;
  std::string where;
};

// The place where a check was made.
inline constexpr const char* kInUnit = "in the unit";
inline constexpr const char* kOutsideUnit = "outside";

// Where three quarters of Redis' connections are taken; for `reclaim status` too.
inline constexpr const char* kRaiseMaxclients =
    "raise maxclients in redis.conf, above two for each worker (CONFIG SET maxclients takes it at "
    "once)";

// Collects the lines; `remedy` only where something is wrong. All that are checked by this process
// are checked `where`.
class Chart final {
 public:
  explicit Chart(std::string where = kOutsideUnit) : where_(std::move(where)) {}

  void ok(std::string check, std::string detail) {
    add({std::move(check), "ok", std::move(detail), "", where_});
  }
  void warning(std::string check, std::string detail, std::string remedy) {
    add({std::move(check), "warning", std::move(detail), std::move(remedy), where_});
  }
  void error(std::string check, std::string detail, std::string remedy) {
    add({std::move(check), kError, std::move(detail), std::move(remedy), where_});
  }
  void add(DoctorRow row) {
    failed_ = failed_ || row.result == kError;
    table_.rows.push_back({std::move(row.check), std::move(row.result), std::move(row.detail),
                           std::move(row.remedy), std::move(row.where)});
  }

  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  static constexpr const char* kError = "error";

  std::string where_;
  Table table_{{"Check", "Result", "Detail", "Remedy", "Where"}, {}, {"Where"}};
  bool failed_ = false;
};

// A worker beats once a survey: so long it may be silent, and three may be missing.
[[nodiscard]] std::int64_t worker_silence_max_ms(const config::Settings& settings);

// Warns where the worker does not hear of what ends on its host; no line where it does.
void check_bus_is_heard(const HostInfo& worker, WallMs now, Chart& chart);
// Tells whether somebody reads the queues of Nova's notifier; `drained` are emptied by the workers.
void judge_queues(const Result<std::vector<BusQueue>>& queues,
                  const std::vector<std::string>& drained, Chart& chart);

// Warns of what the configuration leaves open to others: on the wire, in Redis, in files.
void check_security(const config::Settings& settings, const std::vector<std::string>& files,
                    Chart& chart);
// Names what is compiled in ("PACKAGE VERSION"), and so not updated by apt; empty: nothing is.
void check_compiled_in(const std::string& what, Chart& chart);
// Warns of an endpoint that the catalog names, where it is reached in the clear.
void check_endpoint(const std::string& service, const std::string& url, Chart& chart);

// Checks whether somebody claims a drive that is there beside the entry that counts.
void check_claimants(const config::Settings& settings, Chart& chart);
// Counts the devices that Cyborg has of this host. Where it does not tell which deployable is of
// which device, the view has a row for each of both.
[[nodiscard]] std::size_t count_devices(const placement::CyborgView& view);

// Tells how long a cleaning may take, of that of our drives which may take longest.
void check_cleaning_time(const config::Settings& settings,
                         const std::vector<nvme::DriveFacts>& drives, Chart& chart);

// Checks that every entry of the chain is where [certificates] mirror_dir and mirror_command take
// it.
void check_mirror(const config::Settings& settings, Chart& chart);

// Checks that udev's rules list our drives, where udev finds them first.
void check_udev_rules(const config::Settings& settings, const std::vector<nvme::DriveFacts>& drives,
                      Chart& chart, const std::vector<std::string>& folders = kUdevFolders);

// Tells what protects the connection to Redis, and whether its certificate expires soon.
void check_redis_tls(const RedisOptions& redis, const RedisTlsFacts& tls, WallMs now, Chart& chart);
// Tells how Redis runs our Lua.
void check_redis_functions(RedisLua lua, Chart& chart);
// Asks one server, and no other in its place; `question` judges the answer.
[[nodiscard]] Status ask_redis(Session& session, const RedisOptions& server,
                               const RedisGreeting& question);
// Asks each sentinel of [redis] url, if it names any.
void check_sentinels(Session& session, Chart& chart);
// Asks each node of a cluster that [redis] url names, if it does; and what their answers mean.
void check_cluster(Session& session, Chart& chart);
void judge_cluster(const std::vector<Result<SlotMap>>& told, Chart& chart);

// Checks what a worker has to see and to write of the host, which a container may keep from it.
void check_container(const nvme::Options& options, Chart& chart);

// Cyborg's REST API, where it is configured: is it reached, and which microversion has it?
void check_cyborg(Session& session, Chart& chart);
// Cyborg read twice, and Placement in between: what is bound in both and free there is no binding
// that begins or ends just now.
struct CyborgReadings {
  placement::CyborgView before;
  std::map<std::string, placement::ProviderView> providers;  // by UUID
  placement::CyborgView after;
};
// ARQs that Cyborg has leaked, and devices that its `disable` missed.
void check_cyborg_bindings(const CyborgReadings& readings, Chart& chart);
// The providers of its devices; one that cannot be read is left out.
[[nodiscard]] std::map<std::string, placement::ProviderView> read_providers(
    Session& session, const placement::CyborgView& view);
// Tells how bindings are heard of where drives of ours have providers of Cyborg's.
void check_cyborg_is_heard(const config::Settings& settings,
                           const std::vector<placement::ProviderRow>& rows,
                           const std::vector<nvme::DriveFacts>& drives, Chart& chart);

// The device API, where it is on: its files, its addresses, the validation of tokens.
void check_api(Session& session, Chart& chart);

}  // namespace reclaim::cli
