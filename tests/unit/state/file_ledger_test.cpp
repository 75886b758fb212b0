// The ledger on a disk: what was promised is there after a crash, and damage is never read past.
#include "state/certificate/file_ledger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "state/certificate/chain.h"
#include "state/device/record.h"
#include "state/ledger/host_lock.h"
#include "state/ledger/ledger_file.h"
#include "tests/temp_folder.h"

namespace {

std::atomic<int> syncs_begun{0};
std::atomic<bool> disk_is_slow{false};

}  // namespace

// Stands before the C library's: how often a disk was waited for, and a disk that takes its time.
extern "C" int fsync(int fd) {
  ++syncs_begun;
  while (disk_is_slow) ::usleep(1'000);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace reclaim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Lines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    lines.emplace_back(text);
  }
  std::vector<std::string> lines;
};

class FileLedgerTest : public ::testing::Test {
 protected:
  FileLedgerTest() {
    options_.state_path = folder_.path();
    options_.owner = {"a1", "compute-1"};
  }

  std::string path() const { return options_.state_path + "/ledger"; }

  Result<std::unique_ptr<FileLedger>> open() {
    return FileLedger::open(loop_.raw(), options_, logger_);
  }

  Status put(FileLedger& ledger, std::uint8_t slot, const LedgerEntry& entry) {
    std::optional<Status> result;
    ledger.put(PciAddress{0, 1, slot, 0}, entry,
               [&](Status status) { result = std::move(status); });
    EXPECT_FALSE(result.has_value()) << "the callback came inside the call";
    while (!result) loop_.run_once();
    return *result;
  }

  Result<std::string> keep(FileLedger& ledger, const std::string& id, const std::string& text) {
    std::optional<Result<std::string>> result;
    ledger.keep_certificate(id, text, [&](Result<std::string> kept) { result = std::move(kept); });
    while (!result) loop_.run_once();
    return *result;
  }

  std::string content() const {
    std::stringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path()) << text; }

  const TempFolder folder_;
  Lines logger_;
  uv::Loop loop_;
  FileLedgerOptions options_;
};

LedgerEntry dirty(const std::string& serial) {
  LedgerEntry entry;
  entry.dirty = true;
  entry.serial = serial;
  entry.dirty_since = WallMs{1'763'640'000'123};
  return entry;
}

Certificate certificate_of(const std::string& id) {
  Certificate certificate;
  certificate.id = id;
  certificate.serial = "S1";
  certificate.evidence = R"({"sstat":1})";
  return certificate;
}

constexpr const char* kIdA = "5f0c2f0e-7c0e-4d0e-9d55-0c5a8e1f7a31";
constexpr const char* kIdB = "5f0c2f0e-7c0e-4d0e-9d55-0c5a8e1f7a32";

TEST_F(FileLedgerTest, RemembersAcrossLives) {
  LedgerEntry all = dirty("S \"1\"");
  all.error = all.maintenance = all.taken_out = true;
  all.asked = {"a-provider", 16, true};
  all.provider = "a-provider";
  all.enrolled_serial = "S0";
  all.hardware = "dsn=00-25-38-91-11-c0-bd-e3 slot=12";
  all.boot_id = "5f9c2b1e-0c6f-4a55-9d0e-3a1f0d1b7c42";
  {
    auto ledger = open();
    ASSERT_TRUE(ledger.ok()) << ledger.error().what;
    EXPECT_TRUE((*ledger)->entries().empty());
    EXPECT_TRUE(put(**ledger, 1, dirty("first")).ok());
    EXPECT_TRUE(put(**ledger, 1, all).ok());
    EXPECT_TRUE(put(**ledger, 2, LedgerEntry{}).ok());
  }
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ((*ledger)->entries().size(), 2U);
  EXPECT_EQ((*ledger)->entries().at(PciAddress{0, 1, 1, 0}), all);
  EXPECT_EQ((*ledger)->entries().at(PciAddress{0, 1, 2, 0}), LedgerEntry{});
  EXPECT_TRUE(logger_.lines.empty());
}

TEST_F(FileLedgerTest, WhatAReleaseRestsOnIsKeptToTheByte) {
  LedgerEntry entry = dirty("S");
  entry.accepted = true;
  entry.epoch = 77;
  entry.ordered_at = WallMs{1'763'640'000'123};
  entry.maintenance_until = WallMs{1'763'640'000'124};
  entry.cleaning = CleaningOnLedger{"a-nonce", std::string(64, 'a'), R"({"nvme.check_health":[]})",
                                    R"({"position_bytes":4096})"};
  entry.certificate_pending = R"({"id":"x", "evidence" : {"quoted":"\""}})";
  entry.certificate_pending.insert(1, std::size_t{1000} * 1024, ' ');
  entry.release_generation = 17;
  entry.fence_generation = 18;
  {
    const auto ledger = open();
    EXPECT_TRUE(put(**ledger, 1, entry).ok());
  }
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok()) << ledger.error().what;
  EXPECT_EQ((*ledger)->entries().at(PciAddress{0, 1, 1, 0}), entry);
}

// As the version before wrote it, byte for byte.
TEST_F(FileLedgerTest, ALineOfAnOlderVersionKnowsOfNoCleaning) {
  write(
      "reclaim-ledger 1\n"
      "87b24f5b {\"address\":\"0000:01:01.0\",\"dirty\":true,\"error\":false,"
      "\"maintenance\":false,\"serial\":\"S\",\"provider\":\"p\",\"enrolled_serial\":\"\","
      "\"dirty_since\":\"2025-11-20T12:00:00.000Z\"}\n");
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok()) << ledger.error().what;
  const LedgerEntry& entry = (*ledger)->entries().at(PciAddress{0, 1, 1, 0});
  EXPECT_TRUE(entry.dirty);
  EXPECT_EQ(entry.cleaning, CleaningOnLedger{});
  EXPECT_EQ(entry.certificate_pending, "");
  EXPECT_EQ(entry.epoch, 0U);
  EXPECT_FALSE(entry.accepted);
}

TEST_F(FileLedgerTest, AnEnrolmentAsLongAsADriveMayMakeItIsKept) {
  LedgerEntry entry = dirty("S");
  entry.enrolment = R"({"features":")" + std::string(std::size_t{250} * 1024, 'x') + R"("})";
  {
    const auto ledger = open();
    EXPECT_TRUE(put(**ledger, 1, entry).ok());
  }
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok()) << ledger.error().what;
  EXPECT_EQ((*ledger)->entries().at(PciAddress{0, 1, 1, 0}), entry);
}

TEST_F(FileLedgerTest, WhatIsAskedIsSeenAtOnceAndWrittenBeforeTheEnd) {
  int answers = 0;
  {
    const auto ledger = open();
    for (std::uint8_t slot = 0; slot < 20; ++slot) {
      (*ledger)->put(PciAddress{0, 1, slot, 0}, dirty("S"), [&](const Status& status) {
        EXPECT_TRUE(status.ok());
        ++answers;
      });
    }
    EXPECT_EQ((*ledger)->entries().size(), 20U);
    EXPECT_EQ(answers, 0);
  }
  EXPECT_EQ(answers, 20);
  EXPECT_EQ((*open())->entries().size(), 20U);
}

// A host whose drives are all freed at once does not wait for its disk once for each.
TEST_F(FileLedgerTest, LinesThatWaitTogetherWaitForTheDiskOnce) {
  constexpr int kDrives = 24;
  int written = 0;
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger.ok());
    const auto note = [&](const Status& status) { written += status.ok() ? 1 : 0; };
    const int before = syncs_begun;
    disk_is_slow = true;
    (*ledger)->put(PciAddress{0, 1, 0, 0}, dirty("first"), note);
    while (syncs_begun == before) ::usleep(1'000);
    for (std::uint8_t slot = 1; slot <= kDrives; ++slot) {
      (*ledger)->put(PciAddress{0, 1, slot, 0}, dirty(std::to_string(slot)), note);
    }
    disk_is_slow = false;
    while (written <= kDrives) loop_.run_once();
    // The first; of each page those that end in it, and one that does not.
    const int pages = 1 + static_cast<int>(content().size() / 4'096);
    EXPECT_LE(syncs_begun - before, 1 + 2 * pages);
    EXPECT_LT(syncs_begun - before, kDrives / 2);
  }
  const auto ledger = open();
  ASSERT_EQ((*ledger)->entries().size(), kDrives + 1U);
  EXPECT_EQ((*ledger)->entries().at(PciAddress{0, 1, kDrives, 0}).serial, "24");
}

TEST_F(FileLedgerTest, EveryTornEndIsDroppedAndNothingElse) {
  {
    const auto ledger = open();
    ASSERT_TRUE(put(**ledger, 1, dirty("one")).ok());
    ASSERT_TRUE(put(**ledger, 2, dirty("two")).ok());
  }
  const std::string whole = content();
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t length = last; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    logger_.lines.clear();
    {
      const auto ledger = open();
      ASSERT_TRUE(ledger.ok()) << ledger.error().what;
      ASSERT_EQ((*ledger)->entries().size(), 1U);
      ASSERT_EQ(logger_.lines.size(), length == last ? 0U : 1U);
      ASSERT_TRUE(put(**ledger, 3, dirty("three")).ok());
    }
    const auto again = open();
    ASSERT_TRUE(again.ok()) << "what follows a torn line must not be glued to it";
    ASSERT_EQ((*again)->entries().size(), 2U);
  }
}

TEST_F(FileLedgerTest, AnyChangedByteInAWholeLineIsAnError) {
  {
    const auto ledger = open();
    ASSERT_TRUE(put(**ledger, 1, dirty("one")).ok());
    ASSERT_TRUE(put(**ledger, 2, dirty("two")).ok());
  }
  const std::string whole = content();
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == 'x' ? 'y' : 'x';
    write(damaged);
    const auto ledger = open();
    ASSERT_FALSE(ledger.ok()) << at;
    ASSERT_EQ(ledger.error().code, Errc::invalid);
    ASSERT_THAT(ledger.error().what, HasSubstr(path() + ", line "));
    ASSERT_EQ(content(), damaged) << "a damaged ledger is left for an operator to look at";
  }
  write(whole + "deadbeef {}\n");
  EXPECT_THAT(open().error().what, HasSubstr("line 4: its checksum does not match"));
  write("");
  EXPECT_EQ(open().error().code, Errc::invalid);
  write("reclaim-ledger 2\n");
  EXPECT_THAT(open().error().what, HasSubstr("line 1: 'reclaim-ledger 2"));
}

TEST_F(FileLedgerTest, IsWrittenAnewWhenLong) {
  options_.ledger_bytes_max = 4000;
  {
    const auto ledger = open();
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(put(**ledger, 1, dirty(std::to_string(i))).ok());
    EXPECT_LT(content().size(), 4500U);
    ASSERT_TRUE(put(**ledger, 2, dirty("two")).ok());
  }
  EXPECT_EQ((*open())->entries().at(PciAddress{0, 1, 1, 0}).serial, "199");
  // At the start as well.
  options_.ledger_bytes_max = 1;
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(content(), ledger_file::encode_all((*open())->entries()));
}

TEST_F(FileLedgerTest, IsBounded) {
  options_.entries_max = 2;
  {
    const auto ledger = open();
    ASSERT_TRUE(put(**ledger, 1, {}).ok());
    ASSERT_TRUE(put(**ledger, 2, {}).ok());
    EXPECT_EQ(put(**ledger, 3, {}).error().code, Errc::limit);
    EXPECT_TRUE(put(**ledger, 2, dirty("S")).ok());
    LedgerEntry wide;
    wide.serial.assign(5000, 'x');
    EXPECT_EQ(put(**ledger, 2, wide).error().code, Errc::invalid);
  }
  options_.entries_max = 1;
  EXPECT_EQ(open().error().code, Errc::limit);
}

TEST_F(FileLedgerTest, WritesWaitingAreBounded) {
  options_.writes_waiting_max = 1;
  int fine = 0;
  int over = 0;
  {
    const auto ledger = open();
    for (int i = 0; i < 2000; ++i) {
      (*ledger)->put(PciAddress{0, 1, 1, 0}, dirty(std::to_string(i)),
                     [&](const Status& status) { status.ok() ? ++fine : ++over; });
    }
  }
  EXPECT_EQ(fine + over, 2000);
  EXPECT_GT(over, 0);
  EXPECT_TRUE(open().ok());
}

// The disk is full: writes beyond a size fail with EFBIG, half a line being written before.
class FullDisk final {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit now = before_;
    now.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &now) == 0);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(FileLedgerTest, AFailedWriteIsSaidAndHealedByTheNext) {
  const auto ledger = open();
  ASSERT_TRUE(put(**ledger, 1, dirty("one")).ok());
  const std::string before = content();
  {
    const FullDisk full(before.size() + 20);
    const Status failed = put(**ledger, 2, dirty("two"));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Errc::failed);
    EXPECT_THAT(failed.error().what, HasSubstr("cannot write " + path() + ": File too large"));
    EXPECT_EQ(content(), before) << "half a line was left behind";
    EXPECT_FALSE(put(**ledger, 3, dirty("three")).ok());
  }
  EXPECT_TRUE((*ledger)->entries().at(PciAddress{0, 1, 2, 0}).dirty);
  ASSERT_TRUE(put(**ledger, 4, dirty("four")).ok());
  EXPECT_EQ(content(), ledger_file::encode_all((*ledger)->entries()));
  ASSERT_TRUE(put(**ledger, 5, dirty("five")).ok());
}

TEST_F(FileLedgerTest, WritesQueuedBehindAFailedOneDoNotPretend) {
  const auto ledger = open();
  ASSERT_TRUE(put(**ledger, 1, dirty("one")).ok());
  int failed = 0;
  {
    const FullDisk full(content().size() + 200);
    int outstanding = 3;
    const auto note = [&](const Status& status) {
      failed += status.ok() ? 0 : 1;
      --outstanding;
    };
    // The first is too long for what is left, the others alone would fit.
    (*ledger)->put(PciAddress{0, 1, 2, 0}, dirty(std::string(300, 'x')), note);
    (*ledger)->put(PciAddress{0, 1, 3, 0}, LedgerEntry{}, note);
    (*ledger)->put(PciAddress{0, 1, 3, 0}, LedgerEntry{}, note);
    while (outstanding > 0) loop_.run_once();
  }
  EXPECT_EQ(failed, 3);
  ASSERT_TRUE(put(**ledger, 4, dirty("four")).ok());
  EXPECT_EQ(content(), ledger_file::encode_all((*ledger)->entries()));
}

TEST_F(FileLedgerTest, TwoWorkersCannotShareIt) {
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok());
  const pid_t child = fork();
  if (child == 0) {
    uv::Loop loop;
    NullLogger logger;
    const auto second = FileLedger::open(loop.raw(), options_, logger);
    _exit(!second.ok() && second.error().code == Errc::busy ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(open().error().what, HasSubstr("another worker uses " + options_.state_path));
}

TEST_F(FileLedgerTest, ACopyOnAnotherMachineIsNotBelievedAndSignsNothing) {
  std::string key_id;
  {
    const auto ledger = open();
    ASSERT_TRUE(put(**ledger, 1, dirty("theirs")).ok());
    key_id = open_seal(*keep(**ledger, kIdA, encode_certificate(certificate_of(kIdA))))->key_id;
  }
  options_.owner = {"b2", "compute-2"};
  const Status endorsed = keep_key_entry(options_, AuditEntry{});
  EXPECT_EQ(endorsed.error().code, Errc::refused);
  EXPECT_THAT(endorsed.error().what, HasSubstr("a copy of compute-1's"));
  const auto ledger = open();
  ASSERT_TRUE(ledger.ok()) << ledger.error().what;
  ASSERT_EQ(logger_.lines.size(), 1U);
  EXPECT_THAT(logger_.lines.front(), HasSubstr("this host starts with nothing"));
  EXPECT_TRUE((*ledger)->entries().empty());
  const auto sealed = open_seal(*keep(**ledger, kIdB, encode_certificate(certificate_of(kIdB))));
  EXPECT_EQ(sealed->sequence, 1U);
  EXPECT_NE(sealed->key_id, key_id);
}

TEST_F(FileLedgerTest, AFolderThatIsNoneIsSaid) {
  options_.state_path += "/nowhere";
  EXPECT_THAT(open().error().what, HasSubstr("No such file or directory"));
}

TEST_F(FileLedgerTest, CertificatesAreSealedFilesOfTheirOwn) {
  std::string first;
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger.ok());
    const auto kept = keep(**ledger, kIdA, encode_certificate(certificate_of(kIdA)));
    ASSERT_TRUE(kept.ok()) << kept.error().what;
    first = *kept;
  }
  const std::string folder = certificates_folder(options_.state_path);
  const std::string path = folder + "/" + sealed_name(1, kIdA);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U & ~0022U);
  EXPECT_EQ(*read_sealed(folder, sealed_name(1, kIdA)), first);
  // Another life goes on with the same key and the same chain.
  const auto ledger = open();
  const auto again = keep(**ledger, kIdA, encode_certificate(certificate_of(kIdB)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, first);
  const auto second = keep(**ledger, kIdB, encode_certificate(certificate_of(kIdB)));
  ASSERT_TRUE(second.ok()) << second.error().what;
  EXPECT_EQ(open_seal(*second)->previous, sha256_of(first));
  EXPECT_EQ(open_seal(*second)->key_id, open_seal(first)->key_id);
}

TEST_F(FileLedgerTest, EachSealIsToldAndNothingElse) {
  std::atomic<int> sealed = 0;
  options_.on_sealed = [&sealed] { ++sealed; };
  const auto ledger = open();
  ASSERT_TRUE(put(**ledger, 1, dirty("no certificate")).ok());
  EXPECT_EQ(sealed, 0);
  ASSERT_TRUE(keep(**ledger, kIdA, encode_certificate(certificate_of(kIdA))).ok());
  EXPECT_EQ(sealed, 1);
  {
    const FullDisk full(10);
    EXPECT_FALSE(keep(**ledger, kIdB, encode_certificate(certificate_of(kIdB))).ok());
  }
  EXPECT_EQ(sealed, 1);
}

TEST_F(FileLedgerTest, ASigningKeyThatIsNoneStopsTheStart) {
  options_.signing_key = options_.state_path + "/mine.key";
  EXPECT_THAT(open().error().what, HasSubstr("mine.key: No such file"));
  EXPECT_FALSE(fs::exists(options_.signing_key));
  std::ofstream(options_.signing_key) << "nonsense";
  fs::permissions(options_.signing_key, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(open().error().what,
              HasSubstr("the key that certificates are signed with: " + options_.signing_key));
  fs::rename(options_.signing_key, default_signing_key(options_.state_path));
  options_.signing_key.clear();
  EXPECT_THAT(open().error().what, HasSubstr("holds no private key"));
}

TEST_F(FileLedgerTest, ACertificateIsNoPathAndNoFlood) {
  const auto ledger = open();
  EXPECT_EQ(keep(**ledger, "../../etc/passwd", "{}").error().code, Errc::invalid);
  EXPECT_EQ(keep(**ledger, kIdA, std::string(1024 * 1024 + 1, ' ')).error().code, Errc::limit);
  {
    const FullDisk full(10);
    EXPECT_EQ(keep(**ledger, kIdA, encode_certificate(certificate_of(kIdA))).error().code,
              Errc::failed);
  }
  for (const auto& entry : fs::directory_iterator(options_.state_path + "/certificates")) {
    ADD_FAILURE() << entry.path() << " was left behind";
  }
  EXPECT_TRUE(put(**ledger, 1, dirty("a failed certificate is not a damage to the ledger")).ok());
}

TEST_F(FileLedgerTest, ADeviceIsLockedByOneProcess) {
  const PciAddress address{0, 0xc1, 0, 0};
  auto lock = HostLock::take(options_.state_path, address);
  ASSERT_TRUE(lock.ok()) << lock.error().what;
  EXPECT_TRUE(fs::exists(options_.state_path + "/0000:c1:00.0.lock"));
  const auto second = HostLock::take(options_.state_path, address);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_THAT(second.error().what, HasSubstr("locked by process " + std::to_string(getpid())));
  EXPECT_TRUE(HostLock::take(options_.state_path, PciAddress{0, 0xc2, 0, 0}).ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto taken = HostLock::take(options_.state_path, address);
    _exit(!taken.ok() && taken.error().code == Errc::busy ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  { const HostLock moved = *std::move(lock); }
  EXPECT_TRUE(HostLock::take(options_.state_path, address).ok());
  EXPECT_EQ(HostLock::take("/nowhere", address).error().code, Errc::failed);
}

TEST_F(FileLedgerTest, AuditEntriesAreSealedBetweenTheCertificates) {
  AuditEntry entry;
  entry.event = AuditEvent::quarantined;
  entry.serial = "S1";
  entry.at = WallMs{1'763'640'000'123};
  {
    auto ledger = open();
    ASSERT_TRUE(ledger.ok()) << ledger.error().what;
    std::optional<Status> result;
    (*ledger)->keep_audit(entry, [&](Status status) { result = std::move(status); });
    while (!result) loop_.run_once();
    EXPECT_TRUE(result->ok()) << result->error().what;
    // The operator's command does not write beside a worker.
    EXPECT_EQ(keep_key_entry(options_, entry).error().code, Errc::busy);
  }
  const std::string folder = certificates_folder(options_.state_path);
  const auto files = list_chain(folder)->files;
  ASSERT_EQ(files.size(), 1U);
  const auto sealed = open_seal(*read_sealed(folder, files[0].name));
  ASSERT_TRUE(sealed.ok());
  EXPECT_EQ(sealed->kind, SealedKind::audit);
  EXPECT_EQ(decode_audit(sealed->content)->event, AuditEvent::quarantined);
}

}  // namespace
}  // namespace reclaim
