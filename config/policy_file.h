// oslo.policy's file as far as its form goes: a YAML mapping (JSON is one) from a rule's name to
// its text. What a text means is handlers/api/policy.h's business. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/oslo/ini.h"

namespace reclaim::config {

struct PolicyRule {
  std::string name;
  std::string text;
  int line = 0;
};

struct PolicyFile {
  std::vector<PolicyRule> rules;
  std::vector<Problem> problems;  // empty: the file is well formed
};

// Anchors and aliases are not accepted at all, so nothing grows while it is read; of what is
// nested, which no rule is, so many levels are followed to report what comes after it.
struct PolicyLimits {
  std::size_t file_bytes = std::size_t{256} * 1024;
  std::size_t rules = 500;
  std::size_t name_bytes = 255;
  std::size_t text_bytes = 8'192;
  int nesting = 16;
  std::size_t problems = 20;
};

// A file that is empty, or holds nothing but comments, has no rules. Text that is not YAML ends the
// reading where it stands; what is wrong with one rule is reported and passed over.
[[nodiscard]] PolicyFile parse_policy_file(std::string_view text, const std::string& file,
                                           const PolicyLimits& limits = {});

}  // namespace reclaim::config
