// What is read of the media is taken apart right, and zeroes land where they belong.
#include "nvme/verify/block_io.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace reclaim::nvme {
namespace {

using Bytes = std::vector<std::byte>;

TEST(Survey, BlankMediaNeedNoDigest) {
  const Reading zeroes = survey(Bytes(8192), 0, {4096});
  EXPECT_TRUE(zeroes.uniform);
  EXPECT_TRUE(zeroes.all_zeroes());
  EXPECT_TRUE(zeroes.pieces.empty());
  EXPECT_TRUE(survey(Bytes(8192, std::byte{0xff}), 0, {4096}).all_ones());
  const Reading other = survey(Bytes(8192, std::byte{0x11}), 0, {4096});
  EXPECT_TRUE(other.uniform);
  EXPECT_EQ(other.zero_bytes + other.ones_bytes, 0U);
}

TEST(Survey, OneByteIsSeenAnywhere) {
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{8191}}) {
    Bytes bytes(8192);
    bytes[at] = std::byte{1};
    const Reading reading = survey(bytes, 0, {});
    EXPECT_FALSE(reading.uniform) << at;
    EXPECT_EQ(reading.zero_bytes, 8191U) << at;
  }
}

TEST(Survey, PiecesAreAlignedOnTheMedia) {
  Bytes bytes(12'288);
  ASSERT_TRUE(fill_random(bytes).ok());
  const auto piece = [&](std::size_t at, std::size_t length) {
    return sha256_hex(std::span(bytes).subspan(at, length));
  };
  EXPECT_EQ(survey(bytes, 8192, {4096}).pieces,
            (std::vector{piece(0, 4096), piece(4096, 4096), piece(8192, 4096)}));
  // Begins 512 bytes behind a multiple: the first whole piece lies 3584 bytes in.
  EXPECT_EQ(survey(bytes, 4096 + 512, {4096}).pieces,
            (std::vector{piece(3584, 4096), piece(7680, 4096)}));
  std::fill(bytes.begin() + 4096, bytes.begin() + 8192, std::byte{0});
  EXPECT_EQ(survey(bytes, 8192, {4096, 8192}).pieces,
            (std::vector{piece(0, 4096), piece(8192, 4096), piece(0, 8192)}));
}

TEST(WriteZeros, FillsThePlaceAndNothingElse) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file);
  Bytes bytes(40'960, std::byte{0x5a});
  ASSERT_TRUE(write_place(fd, Place{1, 0, 40'960}, bytes).ok());
  Place place{1, 4096, 20'480};
  // Fewer zeros than the place is long are written again and again.
  ASSERT_TRUE(write_zeros(fd, place, Bytes(8192)).ok());
  EXPECT_EQ(place.length_bytes, 0U);
  EXPECT_EQ(place.offset_bytes, 24'576U);
  AlignedBuffer buffer(40'960);
  const auto read = read_place(fd, Place{1, 0, 40'960}, buffer);
  ASSERT_TRUE(read.ok());
  for (std::size_t i = 0; i < 40'960; ++i) {
    ASSERT_EQ((*read)[i], i >= 4096 && i < 24'576 ? std::byte{0} : std::byte{0x5a}) << i;
  }
  std::fclose(file);
}

TEST(WriteZeros, AnErrorNamesThePlace) {
  Place place{3, 0x2000, 4096};
  const auto failed = write_zeros(-1, place, Bytes(4096));
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().what.find("cannot zero 4096 bytes at 0x2000 of namespace 3"),
            std::string::npos)
      << failed.error().what;
  EXPECT_EQ(zero_out(-1, place).error().raw, EBADF);
}

}  // namespace
}  // namespace reclaim::nvme
