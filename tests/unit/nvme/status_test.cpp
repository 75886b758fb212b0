// NVMe status codes as errors with a remedy.
#include "nvme/controller/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace reclaim::nvme {
namespace {

constexpr int kDoNotRetry = 0x4000;

void expect_status(int code, Errc errc, std::string_view says) {
  const Error error = status_to_error(code | kDoNotRetry, "Sanitize");
  EXPECT_EQ(error.code, errc) << error.what;
  EXPECT_NE(error.what.find(says), std::string::npos) << error.what;
  EXPECT_EQ(error.what.rfind("Sanitize: ", 0), 0U) << error.what;
  EXPECT_EQ(error.raw, code | kDoNotRetry);
}

TEST(Status, RefusalsOfSanitizeNameTheRemedy) {
  expect_status(0x1c, Errc::failed, "last sanitize failed");
  expect_status(0x1d, Errc::busy, "in progress");
  expect_status(0x20, Errc::failed, "nvme set-feature");
  expect_status(0x23, Errc::failed, "lift a lockdown");
  expect_status(0x10a, Errc::failed, "nvme id-ns");
  expect_status(0x286, Errc::failed, "Opal");
  expect_status(0x123, Errc::failed, "persistent memory region");
  expect_status(0x10b, Errc::failed, "conventional reset");
  expect_status(0x111, Errc::failed, "nvme reset");
}

TEST(Status, RefusalsOfFirmwareNameTheRemedy) {
  expect_status(0x106, Errc::failed, "correct the slot");
  expect_status(0x107, Errc::failed, "get the image for this model");
  expect_status(0x110, Errc::failed, "nvme subsystem-reset");
  expect_status(0x112, Errc::failed, "with a reset");
  expect_status(0x113, Errc::failed, "prohibits the activation");
  expect_status(0x114, Errc::failed, "nvme reset");
}

TEST(Status, WhatMayHaveHappenedIsUnknown) {
  for (const int code : {0x04, 0x05, 0x06, 0x07, 0x08, 0x370, 0x371, 0x3ff, 0x701}) {
    EXPECT_EQ(status_to_error(code, "Sanitize").code, Errc::unknown) << code;
  }
  for (const int code : {0x01, 0x02, 0x15, 0x101, 0x2ff}) {
    EXPECT_EQ(status_to_error(code, "Sanitize").code, Errc::failed) << code;
  }
}

TEST(Status, KernelErrors) {
  for (const int lost : {ENODEV, EIO, EINTR, ETIMEDOUT, EAGAIN}) {
    EXPECT_EQ(errno_to_error(lost, "Sanitize").code, Errc::unknown) << lost;
  }
  for (const int refused : {EACCES, EPERM, ENOTTY, EINVAL, EBADF}) {
    EXPECT_EQ(errno_to_error(refused, "Sanitize").code, Errc::failed) << refused;
  }
  EXPECT_NE(errno_to_error(EACCES, "x").what.find("CAP_SYS_ADMIN"), std::string::npos);
}

}  // namespace
}  // namespace reclaim::nvme
