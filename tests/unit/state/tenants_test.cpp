// Whose a tenancy is, by all that its chain tells.
#include "state/ledger/tenants.h"

#include <gtest/gtest.h>

namespace reclaim {
namespace {

AuditEntry entry_of(const std::string& instance, const std::string& project = "") {
  AuditEntry entry;
  entry.instance = instance;
  entry.project = project;
  return entry;
}

TEST(TenantsTest, AnyEntryOfATenancyTellsWhoseItIs) {
  Tenants tenants;
  tenants.add("1-I", "", "");
  tenants.add("1-i", "", "A-A");
  EXPECT_EQ(tenants.whose(entry_of("1-I"), "aa", ""), Whose::asked_for);
  EXPECT_EQ(tenants.whose(entry_of("1-I"), "B", ""), Whose::anothers);
  EXPECT_EQ(tenants.whose(entry_of("1-I"), "AA", "1I"), Whose::asked_for);
  EXPECT_EQ(tenants.whose(entry_of("1-I"), "AA", "2"), Whose::anothers);
  EXPECT_EQ(tenants.whose(entry_of("3", "B"), "AA", ""), Whose::anothers);
  EXPECT_EQ(tenants.whose(entry_of("3", "B"), "B", ""), Whose::asked_for);
}

TEST(TenantsTest, AMigrationStandsForItsInstance) {
  Tenants tenants;
  tenants.add("I", "M", "");
  tenants.add("I", "N", "");
  tenants.add("N", "", "A");
  EXPECT_EQ(tenants.whose(entry_of("M"), "A", "I"), Whose::asked_for);
  EXPECT_EQ(tenants.whose(entry_of("M"), "B", ""), Whose::anothers);
}

TEST(TenantsTest, WhatNothingTellsMayBeAnybodys) {
  Tenants tenants;
  tenants.add("I", "", "");
  tenants.add("", "", "A");
  EXPECT_EQ(tenants.whose(entry_of("I"), "A", ""), Whose::not_known);
  EXPECT_EQ(tenants.whose(entry_of("I"), "A", "K"), Whose::anothers);
  EXPECT_EQ(tenants.whose(entry_of(""), "", "K"), Whose::not_known);
  EXPECT_EQ(tenants.whose(entry_of(""), "", ""), Whose::asked_for);
  EXPECT_EQ(tenants.whose(entry_of("I"), "", "I"), Whose::asked_for);
}

}  // namespace
}  // namespace reclaim
