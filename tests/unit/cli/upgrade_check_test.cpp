// What an upgrade would meet, and how it is said.
#include "cli/upgrade_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/ledger/ledger_file.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Stored = Result<std::optional<std::string>>;

Stored stored(const std::string& text) {
  return std::optional<std::string>(text);
}
const Stored kNothing = std::optional<std::string>();
const Error kUnheard{Errc::unavailable, "Redis: connection refused"};

HostInfo worker(const std::string& host, const std::string& version) {
  HostInfo info;
  info.host = host;
  info.version = version;
  info.heartbeat_at = WallMs{1};
  return info;
}

Readiness beside(const std::string& own, const std::string& other) {
  return judge_workers(std::vector<HostInfo>{worker("c1", other)}, own).code;
}

TEST(UpgradeCheck, FilesThatAreWrongStopAndDeprecatedOnesWarn) {
  EXPECT_EQ(judge_configuration({}, {}).code, Readiness::success);
  const UpgradeResult old = judge_configuration({}, {"a.conf:3: debug is an older name"});
  EXPECT_EQ(old.code, Readiness::warning);
  EXPECT_THAT(old.details, HasSubstr("a.conf:3: debug is an older name: see `reclaim config"));
  const UpgradeResult wrong = judge_configuration({"1", "2", "3", "4", "5"}, {"older"});
  EXPECT_EQ(wrong.code, Readiness::failure);
  EXPECT_THAT(wrong.details, HasSubstr("1; 2; 3; and 2 more"));
}

TEST(UpgradeCheck, AnotherLayoutIsNotTakenOver) {
  EXPECT_EQ(judge_schema(stored(std::to_string(kSchemaVersion))).code, Readiness::success);
  EXPECT_EQ(judge_schema(kNothing).code, Readiness::success);
  for (const char* other : {"0", "1", "3", "2.0", "", "two", "-1"}) {
    EXPECT_EQ(judge_schema(stored(other)).code, Readiness::failure) << other;
  }
  EXPECT_EQ(judge_schema(kUnheard).code, Readiness::failure);
}

TEST(UpgradeCheck, TheFunctionsHaveToBeInstalledBefore) {
  EXPECT_EQ(judge_functions(RedisLua::functions).code, Readiness::success);
  const UpgradeResult missing = judge_functions(RedisLua::missing);
  EXPECT_EQ(missing.code, Readiness::failure);
  EXPECT_THAT(missing.details, HasSubstr("run `reclaim redis install`"));
  EXPECT_EQ(judge_functions(RedisLua::server_has_none).code, Readiness::warning);
  EXPECT_EQ(judge_functions(kUnheard).code, Readiness::failure);
}

TEST(UpgradeCheck, ARecordThatCannotBeReadIsNamed) {
  std::vector<Record> records(2);
  EXPECT_EQ(judge_records(records).code, Readiness::success);
  records[1].address = *parse_pci_address("0000:c1:00.0");
  records[1].damage = "reclaim:{c1}:device:0000:c1:00.0: stage is not known";
  const UpgradeResult result = judge_records(records);
  EXPECT_EQ(result.code, Readiness::failure);
  EXPECT_THAT(result.details, HasSubstr("1 of 2 cannot be read"));
  EXPECT_THAT(result.details, HasSubstr("0000:c1:00.0: reclaim:{c1}:device"));
  EXPECT_EQ(judge_records(kUnheard).code, Readiness::failure);
}

TEST(UpgradeCheck, ALedgerOfAnotherFormStops) {
  LedgerEntry entry;
  entry.dirty = true;
  const std::string good = ledger_file::encode_all({{*parse_pci_address("0000:c1:00.0"), entry}});
  EXPECT_EQ(judge_ledger(stored(good), "/ledger").code, Readiness::success);
  EXPECT_EQ(judge_ledger(kNothing, "/ledger").code, Readiness::success);
  // A write that a crash cut short is no damage.
  EXPECT_EQ(judge_ledger(stored(good + "0123"), "/ledger").code, Readiness::success);
  const UpgradeResult newer = judge_ledger(stored("reclaim-ledger 2\n"), "/ledger");
  EXPECT_EQ(newer.code, Readiness::failure);
  EXPECT_THAT(newer.details, HasSubstr("/ledger"));
  EXPECT_EQ(judge_ledger(kUnheard, "/ledger").code, Readiness::failure);
}

TEST(UpgradeCheck, ACertificateOfAnotherFormStops) {
  EXPECT_EQ(judge_certificates(std::vector<SealedFile>()).code, Readiness::success);
  const UpgradeResult other =
      judge_certificates(std::vector<SealedFile>{{"000000001-a.json", std::string("{}")}});
  EXPECT_EQ(other.code, Readiness::failure);
  EXPECT_THAT(other.details, HasSubstr("000000001-a.json: "));
  EXPECT_EQ(judge_certificates(std::vector<SealedFile>{{"b.json", kUnheard}}).code,
            Readiness::failure);
  EXPECT_EQ(judge_certificates(kUnheard).code, Readiness::failure);
}

TEST(UpgradeCheck, WorkersAreOneVersionApartAtMost) {
  EXPECT_EQ(beside("1.4.0", "1.4.9"), Readiness::success);
  EXPECT_EQ(beside("1.4.0", "1.3.0"), Readiness::success);
  EXPECT_EQ(beside("1.4.0", "1.5.0"), Readiness::success);
  EXPECT_EQ(beside("1.4.0", "1.2.7"), Readiness::failure);
  EXPECT_EQ(beside("1.4.0", "1.6.0"), Readiness::failure);
  EXPECT_EQ(beside("2.0.0", "1.9.0"), Readiness::warning);
  EXPECT_EQ(beside("1.9.0", "2.0.0"), Readiness::warning);
  EXPECT_EQ(beside("2.1.0", "1.9.0"), Readiness::failure);
  EXPECT_EQ(beside("3.0.0", "1.9.0"), Readiness::failure);
  EXPECT_EQ(beside("1.4.0", "self-made"), Readiness::warning);
  EXPECT_EQ(judge_workers(kUnheard, "1.4.0").code, Readiness::failure);
}

TEST(UpgradeCheck, WorkersThatDoNotRunCountNot) {
  std::vector<HostInfo> hosts{worker("c1", "1.4.0"), worker("c2", "0.1.0"), worker("c3", "0.1.0")};
  hosts[1].stopped = true;
  hosts[2].heartbeat_at = WallMs{};
  EXPECT_EQ(judge_workers(hosts, "1.4.0").code, Readiness::success);
  hosts[1].stopped = false;
  const UpgradeResult result = judge_workers(hosts, "1.4.0");
  EXPECT_EQ(result.code, Readiness::failure);
  EXPECT_THAT(result.details, HasSubstr("c2 runs '0.1.0'; this is 1.4.0"));
  EXPECT_THAT(result.details, Not(HasSubstr("c3")));
}

TEST(UpgradeCheck, TheWorstOfAllIsTheExitCode) {
  EXPECT_EQ(exit_code_of({}), 0);
  EXPECT_EQ(exit_code_of({{"a", Readiness::warning, ""}, {"b", Readiness::success, ""}}), 1);
  EXPECT_EQ(exit_code_of({{"a", Readiness::failure, ""}, {"b", Readiness::warning, ""}}), 2);
}

// Printed by oslo.upgradecheck 2.0.0 of the same results.
TEST(UpgradeCheck, TheTableIsOslos) {
  const std::vector<UpgradeResult> results{
      {"Redis layout", Readiness::success, ""},
      {"Ledger", Readiness::failure,
       "the ledger at line 3 is damaged and is not believed because its checksum is not that of "
       "its text"}};
  EXPECT_EQ(upgrade_table(results),
            R"(+----------------------------------------------------------------------+
| Upgrade Check Results                                                |
+----------------------------------------------------------------------+
| Check: Redis layout                                                  |
| Result: Success                                                      |
| Details: None                                                        |
+----------------------------------------------------------------------+
| Check: Ledger                                                        |
| Result: Failure                                                      |
| Details: the ledger at line 3 is damaged and is not believed because |
|   its checksum is not that of its text                               |
+----------------------------------------------------------------------+
)");
  EXPECT_EQ(
      upgrade_json(results),
      R"({"name": "Upgrade Check Results", "checks": [{"check": "Redis layout", "result": 0, )"
      R"("details": null}, {"check": "Ledger", "result": 2, "details": "the ledger at line 3 )"
      R"(is damaged and is not believed because its checksum is not that of its text"}]})"
      "\n");
}

}  // namespace
}  // namespace reclaim::cli
