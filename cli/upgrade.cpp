// reclaim upgrade check: reads what a worker of this version would take over, and changes nothing.
// Run before the worker is restarted with it; judged in upgrade_check.cpp.
#include <fcntl.h>

#include <cerrno>
#include <exception>
#include <ostream>

#include "cli/commands.h"
#include "cli/records.h"
#include "cli/upgrade_check.h"
#include "state/base/durable_file.h"
#include "state/certificate/chain.h"
#include "state/certificate/file_ledger.h"
#include "state/redis/keys.h"
#include "state/redis/redis.h"
#include "version.h"

namespace reclaim::cli {
namespace {

constexpr std::size_t kCertificatesMax = 100;  // the newest: all of one version are alike

std::vector<std::string> texts_of(const std::vector<config::Problem>& problems) {
  std::vector<std::string> texts;
  texts.reserve(problems.size());
  for (const config::Problem& problem : problems) texts.push_back(config::to_text({problem}));
  return texts;
}

// Without the greeting of a store, which refuses a layout of another version, and writes one where
// there is none.
Result<std::optional<std::string>> read_schema(Session& session) {
  auto client = Redis::create(session.loop(), session.settings().redis, session.log());
  if (!client) return std::move(client).error();
  (*client)->start();
  const auto state = [&client]() -> const RedisState& { return (*client)->state(); };
  if (auto connected = session.wait_connected(state); !connected) {
    return std::move(connected).error();
  }
  const auto reply = session.wait<RedisReply>([&](auto done) {
    (*client)->command({"GET", redis_keys::kSchema}, std::move(done));
  });
  (*client)->close();
  if (!reply) return reply.error();
  if (reply->is_nil()) return std::optional<std::string>();
  return std::optional<std::string>(reply->text);
}

// RedisLua::missing is what keeps a store from being connected.
Result<RedisLua> how_it_runs_lua(Session& session) {
  const auto store = session.store();
  if (store) return (*store)->state().lua;
  const RedisStore* refused = session.connected_store();
  if (refused != nullptr && refused->state().lua == RedisLua::missing) return RedisLua::missing;
  return store.error();
}

Result<std::optional<std::string>> read_ledger(const std::string& path) {
  const auto file = durable_file::File::open(path, O_RDONLY);
  if (!file && file.error().raw == ENOENT) return std::optional<std::string>();
  if (!file) return file.error();
  auto text = file->read_all(2 * FileLedgerOptions{}.ledger_bytes_max);
  if (!text) return std::move(text).error();
  return std::optional<std::string>(*std::move(text));
}

Result<std::vector<SealedFile>> read_certificates(const std::string& folder) {
  const auto listing = list_chain(folder);
  if (!listing) return listing.error();
  std::vector<SealedFile> files;
  const std::size_t count = listing->files.size();
  for (std::size_t i = count - std::min(count, kCertificatesMax); i < count; ++i) {
    const std::string& name = listing->files[i].name;
    files.push_back({name, read_sealed(folder, name)});
  }
  return files;
}

std::vector<UpgradeResult> look(const config::LoadRequest& request) {
  const config::CheckReport report = config::check_settings(request);
  std::vector<UpgradeResult> results{
      judge_configuration(texts_of(report.checked.problems), texts_of(report.checked.warnings))};
  // The rest is looked for where the configuration says, and a problem may be just there.
  if (!report.checked.problems.empty()) return results;
  const config::Settings& settings = report.checked.settings;
  NullLogger quiet;
  Session session(settings, quiet);
  const auto stored = read_schema(session);
  results.push_back(judge_schema(stored));
  // Redis of another layout tells nothing more; and to look at an empty one would make a layout.
  if (stored && *stored == std::to_string(kSchemaVersion)) {
    const auto lua = how_it_runs_lua(session);
    results.push_back(judge_functions(lua));
    if (lua && *lua != RedisLua::missing) {
      results.push_back(judge_records(load_records(session, settings.host)));
      results.push_back(judge_workers(known_hosts(session), kVersion));
    }
  }
  const std::string ledger = settings.state_path + "/ledger";
  results.push_back(judge_ledger(read_ledger(ledger), ledger));
  results.push_back(
      judge_certificates(read_certificates(certificates_folder(settings.state_path))));
  return results;
}

}  // namespace

int run_upgrade_check(const config::LoadRequest& request, bool as_json, std::ostream& out,
                      std::ostream& err) {
  try {
    const std::vector<UpgradeResult> results = look(request);
    out << (as_json ? upgrade_json(results) : upgrade_table(results));
    return exit_code_of(results);
  } catch (const std::exception& error) {
    err << "reclaim: the check itself failed: " << error.what() << '\n';
    return kUpgradeUnexpected;
  }
}

}  // namespace reclaim::cli
