// Test suites whose tests share one Keystone and one Placement. Thread: the test's.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/integration/openstack_stack.h"

namespace reclaim::testing {

class OpenStackTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { start_stack({}); }
  static void TearDownTestSuite() {
    delete stack_;
    stack_ = nullptr;
  }

  // `arguments` as of OpenStackStack::start().
  static void start_stack(std::vector<std::string> arguments) {
    auto started = OpenStackStack::start(std::move(arguments));
    ASSERT_TRUE(started.ok()) << started.error().what;
    stack_ = started->release();
  }

  static inline OpenStackStack* stack_ = nullptr;
};

}  // namespace reclaim::testing
