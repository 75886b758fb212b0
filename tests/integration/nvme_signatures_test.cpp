// What the media of a drive has, found by the real libblkid over the emulated drive: tables and
// filesystems that tools made or that are written here byte by byte, and what cannot be read.
#include "nvme/host/signatures.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <span>

#include "nvme/controller/buffer.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kDiskBytes = 16U << 20U;
constexpr std::uint64_t kSector = 512;

std::string little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i)
    text.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
  return text;
}

std::string crc32(const std::string& bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return little(~crc, 4);
}

// A GPT header (UEFI 2.10, 5.3.2) for a table without an entry.
std::string gpt_header(std::uint64_t at, std::uint64_t other, std::uint64_t entries) {
  const std::uint64_t last = kDiskBytes / kSector - 1;
  std::string header = "EFI PART" + little(0x00010000, 4) + little(92, 4);
  const std::string rest = little(0, 4) + little(at, 8) + little(other, 8) + little(34, 8) +
                           little(last - 33, 8) + std::string(16, 'G') + little(entries, 8) +
                           little(128, 4) + little(128, 4) + crc32(std::string(16'384, '\0'));
  return header + crc32(header + little(0, 4) + rest) + rest;
}

// An MBR with one partition of Linux's type.
std::string mbr() {
  std::string sector(kSector, '\0');
  const std::string entry =
      std::string("\0\0\2\0\x83\0\0\0", 8) + little(2'048, 4) + little(4'096, 4);
  sector.replace(446, entry.size(), entry);
  sector.replace(510, 2, "\x55\xaa");
  return sector;
}

class SignaturesTest : public NvmeFixture {
 protected:
  [[nodiscard]] Result<std::vector<std::string>> find() {
    return find_signatures(options_, request_.address, stop_);
  }
  // Runs a tool on the namespace's media; false where the tool is not there.
  [[nodiscard]] bool make(const std::string& tool, const std::string& arguments) const {
    if (!std::filesystem::exists("/usr/sbin/" + tool)) return false;
    const std::string line = "/usr/sbin/" + tool + " " + arguments + " " +
                             (root_ / "dev/nvme0n1").string() + " >/dev/null 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0) << line;
    return true;
  }
  void expect_found(const std::string& what) {
    const auto found = find();
    ASSERT_TRUE(found.ok()) << found.error().what;
    EXPECT_THAT(*found, ::testing::Contains("nvme0n1: " + what));
  }
  void blank_drive(const std::string& more = "") { make_drive(more, false); }
};

TEST_F(SignaturesTest, ZeroedMediaBearNothing) {
  blank_drive();
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, IsEmpty());
}

TEST_F(SignaturesTest, ContentWithoutAnySignatureIsNothing) {
  blank_drive();
  put_media(0, std::string(kDiskBytes, '\xa7'));
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, IsEmpty());
}

TEST_F(SignaturesTest, ContentIsFoundWhereTheDriveHasToBeBlank) {
  std::string random(kSector, '\0');
  ASSERT_TRUE(fill_random(std::as_writable_bytes(std::span(random))).ok());
  const std::string blobstore = "SPDKBLOB" + little(3, 4) + little(64, 4) + little(1, 4);
  const std::string one_byte(1, '\1');
  struct Case {
    const char* what;
    std::uint64_t offset;
    std::string bytes;
  };
  for (const Case& each :
       {Case{"plain dm-crypt", 0, random},
        Case{"plain dm-crypt, written late", kDiskBytes / 2, random},
        Case{"an SPDK blobstore", 0, blobstore}, Case{"the last byte", kDiskBytes - 1, one_byte}}) {
    SCOPED_TRACE(each.what);
    blank_drive();
    put_media(each.offset, each.bytes);
    const auto known = find();
    ASSERT_TRUE(known.ok()) << known.error().what;
    EXPECT_THAT(*known, IsEmpty());
    const auto found = find_signatures(options_, request_.address, stop_, Edges::have_to_be_blank);
    ASSERT_TRUE(found.ok()) << found.error().what;
    EXPECT_THAT(*found, ElementsAre("nvme0n1: data without a signature"));
    TearDown();
    SetUp();
  }
}

TEST_F(SignaturesTest, BlankIsWhatIsOneByteRepeatedAndWhatHasASignatureIsToldByThat) {
  const auto found = [this] {
    return find_signatures(options_, request_.address, stop_, Edges::have_to_be_blank).value();
  };
  blank_drive();
  EXPECT_THAT(found(), IsEmpty());
  put_media(0, std::string(kDiskBytes, '\xff'));
  EXPECT_THAT(found(), IsEmpty());
  put_media(0, mbr());
  EXPECT_THAT(found(), ElementsAre("nvme0n1: dos partition table"));
}

TEST_F(SignaturesTest, AFilesystemIsFound) {
  blank_drive();
  if (!make("mkfs.ext4", "-q -F")) GTEST_SKIP() << "no mkfs.ext4";
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, ElementsAre("nvme0n1: ext4"));
}

TEST_F(SignaturesTest, SwapIsFound) {
  blank_drive();
  if (!make("mkswap", "")) GTEST_SKIP() << "no mkswap";
  expect_found("swap");
}

TEST_F(SignaturesTest, APartitionTableIsFound) {
  blank_drive();
  put_media(0, mbr());
  expect_found("dos partition table");
}

TEST_F(SignaturesTest, AGptIsFoundAlsoByItsBackupAloneAndWithoutAnMbr) {
  const std::uint64_t last = kDiskBytes / kSector - 1;
  for (const bool backup : {false, true}) {
    SCOPED_TRACE(backup);
    blank_drive();
    if (backup) {
      put_media(last * kSector, gpt_header(last, 1, last - 32));
    } else {
      put_media(kSector, gpt_header(1, last, 2));
    }
    expect_found("gpt partition table");
    TearDown();
    SetUp();
  }
}

TEST_F(SignaturesTest, MembersOfLvmMdAndLuksAreFound) {
  const std::string lvm = "LABELONE" + little(1, 8) + little(0, 4) + little(32, 4) + "LVM2 001" +
                          "0123456789abcdefghijklmnopqrstuv";
  std::string md = little(0xa92b4efc, 4) + little(1, 4) + std::string(120, '\0') + little(0, 8) +
                   little(kDiskBytes / kSector - 16, 8) + little(8, 8);
  const std::string luks = std::string("LUKS\xba\xbe\0\1", 8) + "aes";
  struct Case {
    std::uint64_t offset;
    std::string bytes;
    std::string type;
  };
  for (const Case& each : {Case{kSector, lvm, "LVM2_member"}, Case{4'096, md, "linux_raid_member"},
                           Case{0, luks, "crypto_LUKS"}}) {
    SCOPED_TRACE(each.type);
    blank_drive();
    put_media(each.offset, each.bytes);
    expect_found(each.type);
    TearDown();
    SetUp();
  }
}

TEST_F(SignaturesTest, MoreThanOneIsToldAndADamagedSuperblockToo) {
  blank_drive();
  if (!make("mkfs.ext4", "-q -F -b 4096 -O metadata_csum")) GTEST_SKIP() << "no mkfs.ext4";
  put_media(1'024 + 0x3fc, "\1\2\3\4");  // s_checksum
  std::string sector = get_media(0, 446) + mbr().substr(446);
  put_media(0, sector);
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, ElementsAre("nvme0n1: ext4", "nvme0n1: dos partition table"));
}

TEST_F(SignaturesTest, EveryNamespaceIsLookedAt) {
  blank_drive();
  ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, false).ok());
  const auto drive = read_drive(options_.sysfs_root, request_.address);
  ASSERT_TRUE(drive.ok());
  ASSERT_EQ(drive->namespaces.size(), 2U);
  const std::string second = drive->namespaces[1].disk.name;
  std::fstream file(root_ / "dev" / second, std::ios::in | std::ios::out | std::ios::binary);
  file.write(mbr().data(), static_cast<std::streamsize>(mbr().size()));
  file.close();
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, ElementsAre(second + ": dos partition table"));
}

TEST_F(SignaturesTest, ADriveWithoutNamespacesBearsNothing) {
  blank_drive();
  set("delete_namespace", "1");
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, IsEmpty());
}

TEST_F(SignaturesTest, WhatTheHostBuiltOnADiskIsTold) {
  blank_drive();
  ASSERT_TRUE(host_->hold(kAddress, "dm-0").ok());
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_THAT(*found, ElementsAre("nvme0n1: held by dm-0"));
}

TEST_F(SignaturesTest, WhatCannotBeReadIsNeverNothing) {
  for (const char* fault : {"opal_locked=1", "io_error_at=1:0:4096", "io_error_at=1:1572864:4096",
                            "io_error_at=1:15204352:4096", "io_error_at=1:16773120:4096"}) {
    SCOPED_TRACE(fault);
    blank_drive("opal=1");
    const std::string text = fault;
    set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    expect_error(find(), Errc::refused, "nvme0n1 cannot be searched for signatures");
    TearDown();
    SetUp();
  }
}

TEST_F(SignaturesTest, ADetachedNamespaceCannotBeRead) {
  blank_drive();
  ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, true).ok());
  expect_error(find(), Errc::refused,
               "namespace 2 cannot be searched for signatures: it is detached");
  expect_error(find_signatures(options_, request_.address, stop_, Edges::may_be_barred),
               Errc::refused, "it is detached");
}

TEST_F(SignaturesTest, ANamespaceOfWhichTheKernelMakesNoDiskCannotBeRead) {
  blank_drive();
  set("lba_format", "1:2");
  expect_error(find(), Errc::refused, "makes no disk of this format");
}

TEST_F(SignaturesTest, AnotherDevicesNodeIsRefused) {
  blank_drive();
  std::ofstream(root_ / "sys/class/block/nvme0n1/dev") << "259:77\n";
  expect_error(find(), Errc::refused, "sysfs says 259:77");
}

TEST_F(SignaturesTest, WithoutItsDriverOrDeadItIsLookedAtLater) {
  blank_drive();
  set("state", "resetting");
  expect_error(find(), Errc::busy, "nvme0 is resetting");
  set("state", "live");
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  expect_error(find(), Errc::busy, "its driver is vfio-pci");
  request_.address = *parse_pci_address("0000:09:00.0");
  EXPECT_EQ(find().error().code, Errc::not_found);
}

TEST_F(SignaturesTest, LookingChangesNothing) {
  blank_drive();
  put_media(0, mbr());
  const auto counters = [&] {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return state.smart.host_writes;
    });
  };
  const auto before = counters();
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(counters(), before);
  EXPECT_EQ(get_media(0, kSector), mbr());
}

TEST_F(SignaturesTest, ToldToStopItStops) {
  blank_drive();
  stop_.request();
  expect_error(find(), Errc::cancelled, "stopped");
}

}  // namespace
}  // namespace reclaim::nvme
