// The host's own key, and what it says of a record: whatever anybody changes is noticed.
#include "state/certificate/record_seal.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "state/base/durable_file.h"
#include "state/certificate/order_seal.h"
#include "tests/temp_folder.h"

namespace reclaim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct KeyFolder : ::testing::Test {
  [[nodiscard]] std::string path() const { return default_host_key(folder); }
  void write(const std::string& text, std::filesystem::perms mode) const {
    std::ofstream(path()) << text;
    std::filesystem::permissions(path(), mode);
  }
  [[nodiscard]] MacKey key() const { return *MacKey::load_or_create(path()); }

  const TempFolder temp;
  const std::string folder = temp.path();
};

constexpr auto kOwnerOnly = std::filesystem::perms::owner_read;

TEST_F(KeyFolder, AKeyIsMadeOnceAndReadableByItsOwnerAlone) {
  EXPECT_EQ(MacKey::load(path()).error().code, Errc::not_found);
  const MacKey made = key();
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  const MacKey again = key();
  EXPECT_TRUE(again.fits("p", {{"a", "1"}}, made.mac("p", {{"a", "1"}})));
}

TEST_F(KeyFolder, AFileThatIsNoKeyIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(63, 'a'), std::string(65, 'a'),
        std::string(64, 'g'), std::string(64, 'A'), std::string(66, 'a')}) {
    write(text, std::filesystem::perms::owner_all);
    const auto loaded = MacKey::load_or_create(path());
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_EQ(loaded.error().code, Errc::invalid);
    EXPECT_THAT(loaded.error().what, HasSubstr("openssl rand -hex 32"));
  }
  write(std::string(64, 'a'), kOwnerOnly | std::filesystem::perms::group_read);
  EXPECT_THAT(MacKey::load(path()).error().what, HasSubstr("chmod 600"));
}

// reclaim-api.service asks for root:reclaim-api, 0640.
TEST(Secrets, AreTheOwnersOrRootsAndOneServices) {
  using durable_file::is_secret;
  constexpr unsigned kService = 998;
  EXPECT_TRUE(is_secret(0600, 0, 0, 0, 0));
  EXPECT_TRUE(is_secret(0100400, kService, kService, kService, kService));
  EXPECT_TRUE(is_secret(0100640, 0, kService, kService, kService));
  EXPECT_FALSE(is_secret(0640, 0, kService, kService, 100)) << "another group's";
  EXPECT_FALSE(is_secret(0640, kService, kService, kService, kService)) << "not root's";
  EXPECT_FALSE(is_secret(0640, 0, 0, 0, 0)) << "root's group may have members";
  EXPECT_FALSE(is_secret(0660, 0, kService, kService, kService));
  EXPECT_FALSE(is_secret(0644, 0, kService, kService, kService));
}

constexpr int kAccepted = 100;

// What a process of that user and group makes of the file: an Errc, or kAccepted.
int read_as(const TempFolder& temp, unsigned user, unsigned group) {
  const pid_t child = ::fork();
  if (child == 0) {
    // By its name alone: the folders above may be closed to that user.
    if (::chdir(temp.path().c_str()) != 0 || ::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 ||
        ::setuid(user) != 0) {
      ::_exit(kAccepted + 1);
    }
    const auto text = durable_file::read_secret("secret");
    ::_exit(text.ok() ? kAccepted : static_cast<int>(text.error().code));
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(Secrets, AreReadByWhomTheyAreFor) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  constexpr unsigned kService = 998;
  constexpr unsigned kOther = 997;
  constexpr int kRefused = static_cast<int>(Errc::invalid);
  constexpr int kClosed = static_cast<int>(Errc::failed);  // by the kernel
  const TempFolder temp;
  std::filesystem::permissions(temp.path(), std::filesystem::perms(0755));
  const std::string file = temp / "secret";
  std::ofstream(file) << "secret";
  struct Case {
    unsigned owner, group, mode;
    int by_root, by_service;
  };
  for (const Case& each : {
           Case{0, 0, 0600, kAccepted, kClosed},
           Case{kService, kService, 0600, kAccepted, kAccepted},  // by root: with sudo
           Case{kOther, kService, 0600, kAccepted, kClosed},
           Case{0, kService, 0640, kRefused, kAccepted},
           Case{0, kOther, 0640, kRefused, kClosed},
           Case{kService, kService, 0640, kRefused, kRefused},
           Case{kOther, kService, 0640, kRefused, kRefused},
           Case{0, kService, 0660, kRefused, kRefused},
           Case{0, kService, 0644, kRefused, kRefused},
           Case{0, 0, 0604, kRefused, kRefused},
       }) {
    SCOPED_TRACE(fmt::format("{}:{} {:o}", each.owner, each.group, each.mode));
    ASSERT_EQ(::chown(file.c_str(), each.owner, each.group), 0);
    std::filesystem::permissions(file, std::filesystem::perms(each.mode));
    EXPECT_EQ(read_as(temp, 0, 0), each.by_root);
    EXPECT_EQ(read_as(temp, kService, kService), each.by_service);
  }
}

// Computed by openssl's command line.
TEST_F(KeyFolder, TheCodeIsHmacSha256OfTheFieldsWithTheirLengths) {
  write(std::string(64, 'a') + "\n", kOwnerOnly);
  // printf '7:purpose\n1:a=1:x\n2:bb=0:\n' |
  //   openssl dgst -sha256 -mac HMAC -macopt hexkey:aa..aa
  EXPECT_EQ(MacKey::load(path())->mac("purpose", {{"bb", ""}, {"a", "x"}}),
            "0c64670bb00880758461d3250d0c4a8a7dffa2bd68e5a91ae95671a41bce4416");
}

TEST_F(KeyFolder, NoFieldPassesForAnother) {
  const MacKey k = key();
  const std::string mac = k.mac("p", {{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(k.fits("p", {{"a", "1"}, {"b", "2"}}, mac));
  EXPECT_FALSE(k.fits("q", {{"a", "1"}, {"b", "2"}}, mac));
  EXPECT_FALSE(k.fits("p", {{"a", "1"}}, mac));
  EXPECT_FALSE(k.fits("p", {{"a", "1"}, {"b", "2"}, {"c", ""}}, mac));
  EXPECT_FALSE(k.fits("p", {{"a", "1\n1:b=1:2"}}, mac));
  EXPECT_FALSE(k.fits("p", {{"a", "1"}, {"b", "2"}}, ""));
  EXPECT_FALSE(k.fits("p", {{"a", "1"}, {"b", "2"}}, mac.substr(0, 63)));
}

Record a_record() {
  Record record;
  record.host = "compute-1";
  record.address = PciAddress{0, 1, 0, 0};
  record.epoch = 7;
  record.serial = "S1";
  return record;
}

TEST_F(KeyFolder, EveryFieldOfARecordIsCoveredButTheProgressOfItsStep) {
  const RecordSeal seal("compute-1", key());
  const Fields sealed = seal.seal(a_record());
  ASSERT_TRUE(seal.fits(sealed));
  std::vector<std::string> free;
  for (const auto& [name, value] : sealed) {
    Fields changed = sealed;
    changed[name] += "x";
    if (seal.fits(changed)) free.push_back(name);
  }
  EXPECT_THAT(free,
              ::testing::ElementsAre("clean_step", "progress", "progress_eta_s", "updated_at"));
  Fields more = sealed;
  more["another"] = "field";
  EXPECT_FALSE(seal.fits(more));
}

TEST_F(KeyFolder, AnotherHostsKeySaysNothingHere) {
  const RecordSeal ours("compute-1", key());
  std::filesystem::remove(path());
  const RecordSeal theirs("compute-1", key());
  EXPECT_FALSE(ours.fits(theirs.seal(a_record())));
}

TEST_F(KeyFolder, ARecordWithoutACodeIsNotOurs) {
  const RecordSeal seal("compute-1", key());
  EXPECT_FALSE(seal.fits(encode_record(a_record())));
}

// -------------------------------------------------------------------------------------------------
// Orders.

TEST_F(KeyFolder, AnOrderIsBoundToEveryWordOfItAndToItsHost) {
  const OrderSeal seal("compute-1", key(), std::nullopt);
  Order order{"1-1", "enrol", "0000:01:00.0", "root@compute-1", "req-1", WallMs{1'000},
              "n",   "",      "S1",           "dsn=00-01",      "",      "",
              ""};
  EXPECT_FALSE(seal.fits("compute-1", order));
  seal.seal("compute-1", order);
  EXPECT_TRUE(seal.fits("compute-1", order));
  EXPECT_FALSE(seal.fits("compute-2", order));
  for (std::string Order::*member :
       {&Order::order, &Order::address, &Order::who, &Order::request_id, &Order::nonce, &Order::mac,
        &Order::serial, &Order::hardware, &Order::reason, &Order::steps, &Order::hold}) {
    Order changed = order;
    changed.*member += "x";
    EXPECT_FALSE(seal.fits("compute-1", changed));
  }
  Order later = order;
  later.issued_at.ms += 1;
  EXPECT_FALSE(seal.fits("compute-1", later));
  Order elsewhere = order;
  elsewhere.id = "2-1";
  EXPECT_TRUE(seal.fits("compute-1", elsewhere)) << "the id is Redis's";
}

// Root on one host has that host's keys, and orders on no other.
TEST_F(KeyFolder, AHostsKeysAreGoodForItsOrdersAloneAndTheMasterForAll) {
  const MacKey own = key();
  write(std::string(64, 'a') + "\n", kOwnerOnly);
  const OrderKey master = *OrderKey::load(path());
  const auto key_of_host = [&](const std::string& host) {
    write(master.line_for(host) + "\n", kOwnerOnly);
    return *OrderKey::load(path());
  };
  const OrderSeal worker("compute-1", own, key_of_host("compute-1"));
  const OrderSeal operators("controller-1", std::nullopt, master);
  const OrderSeal thief("compute-2", own, key_of_host("compute-2"));
  const Order plain{"",  "enrol", "0000:01:00.0", "alice",     "req-1", WallMs{1'000},
                    "n", "",      "S1",           "dsn=00-01", "",      "",
                    ""};
  const auto sealed_by = [&plain](const OrderSeal& seal) {
    Order order = plain;
    seal.seal("compute-1", order);
    return order;
  };
  EXPECT_TRUE(worker.fits("compute-1", sealed_by(operators)));
  EXPECT_TRUE(worker.fits("compute-1", sealed_by(worker)));
  EXPECT_FALSE(operators.fits("compute-1", sealed_by(worker))) << "the host's own key is its own";
  EXPECT_EQ(sealed_by(thief).mac, "") << "it has no key that would do";
  // What he makes with what he has, in the name of the other host.
  write(std::string(master.line_for("compute-2")).replace(0, 9, "compute-1"), kOwnerOnly);
  EXPECT_FALSE(worker.fits("compute-1", sealed_by({"x", std::nullopt, *OrderKey::load(path())})));
}

TEST_F(KeyFolder, AKeyOfOrdersIsTheMasterOrAHosts) {
  write(std::string(64, 'a') + "\n", kOwnerOnly);
  const auto master = OrderKey::load(path());
  ASSERT_TRUE(master) << master.error().what;
  EXPECT_EQ(master->host(), "");
  // printf '19:reclaim order key 1\n4:host=9:compute-1\n' |
  //   openssl dgst -sha256 -mac HMAC -macopt hexkey:aa..aa
  EXPECT_EQ(master->line_for("compute-1"),
            "compute-1 40639209a17b8da68fe77c803889b87d3637e2d42f3ae786e4bcdcd4dbf0b5ff");
  EXPECT_THAT(why_not_of_host(*master, "compute-1"),
              AllOf(HasSubstr("the fleet's master key"),
                    HasSubstr("`reclaim security order-key --host compute-1`"),
                    HasSubstr("make a new master")));
  write(master->line_for("compute-1") + "\n", kOwnerOnly);
  const auto of_host = OrderKey::load(path());
  ASSERT_TRUE(of_host) << of_host.error().what;
  EXPECT_EQ(of_host->host(), "compute-1");
  EXPECT_EQ(why_not_of_host(*of_host, "compute-1"), "");
  EXPECT_THAT(why_not_of_host(*of_host, "compute-2"), HasSubstr("the key of host compute-1"));
  EXPECT_FALSE(of_host->key_of("compute-2"));
  for (const std::string& text :
       {std::string("compute-1"), " " + std::string(64, 'a'), "compute-1 " + std::string(63, 'a'),
        std::string(), std::string(64, '0'), "compute-1 " + std::string(64, '0')}) {
    write(text, kOwnerOnly);
    EXPECT_THAT(OrderKey::load(path()).error().what, HasSubstr("holds no key of orders")) << text;
  }
}

TEST(Orders, WrittenByHandLackWhatNobodyWrote) {
  const Order order = order_from_fields("1763640000123-0", {{"order", "clean"}, {"x", "y"}});
  EXPECT_EQ(order.order, "clean");
  EXPECT_EQ(order.who, "");
  EXPECT_EQ(order.issued_at, WallMs{});
  EXPECT_EQ(written_at_ms(order.id), 1'763'640'000'123);
  for (const char* id : {"", "x-1", "12", "-1", "1x-1"}) EXPECT_EQ(written_at_ms(id), 0) << id;
}

}  // namespace
}  // namespace reclaim
