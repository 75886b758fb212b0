// The options Reclaim knows, and their values merged from several files by oslo.config's rules.
// Pure: the texts of the files come in, see config/load.h for reading them. Thread: any.
//
// Rules taken from oslo_config/cfg.py: a later file wins; within a file the last of repeated values
// wins; a multi-valued option collects all values of all files, in order; a list is one value,
// split at ','; "$name", "${name}" and "${group.name}" stand for another option's value, looked for
// in the same group and then in DEFAULT; "$$" and "\$" are a dollar sign. A name nobody knows after
// '$' is an error in oslo, and here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/oslo/ini.h"

namespace reclaim::config {

enum class OptionType { string, integer, real, boolean, list, multi };

[[nodiscard]] std::string_view to_string(OptionType type);

struct Range {
  std::int64_t min;
  std::int64_t max;
};

// The accepted form of a text: anything; an absolute path, where empty is accepted only as the
// default; an http(s) URL without a password, or empty.
enum class Form { any, path, url };

class Reader;
struct Target;
struct Option;
// Reads an option of `group` into the member that it was declared with (config/declare.h).
using Fill = void (*)(const Reader& read, std::string_view group, const Option& option,
                      const Target& target);

struct Option {
  std::string_view group = {};
  std::string_view name;
  OptionType type = OptionType::string;
  std::optional<std::string_view> fallback =
      std::nullopt;                           // the default, as it would be written in a file
  std::string_view help = {};                 // whole sentences
  std::optional<Range> range = std::nullopt;  // of a number
  std::string_view choices = {};              // accepted words, separated by ','; empty: anything
  std::string_view aliases = {};              // older names still accepted, separated by ','
  Form form = Form::any;
  int times = 1;        // the member counts in a unit that is so many times smaller
  bool secret = false;  // its value is never printed
  bool shared = false;  // is read from files given with --service-config, too
  Fill fill = nullptr;  // none: the code that reads its group gives it its meaning
};

struct OptionGroup {
  // One that ends with ':' stands for all groups that begin so: "step:" for [step:reflash].
  std::string_view name;
  std::string_view help;
  // Names that oslo, keystoneauth or keystonemiddleware accept here and that have no effect in
  // Reclaim, separated by ','. In Reclaim's own files they are a warning, not an error.
  std::string_view unused;
};

// The table (config/schema.cpp), in the order of the sample file. Options of the group "@auth"
// exist in [placement], [keystone_authtoken], [cyborg] and in every group that an auth_section of
// theirs names.
[[nodiscard]] std::span<const Option> schema();
[[nodiscard]] std::span<const OptionGroup> schema_groups();

inline constexpr std::string_view kAuthGroup = "@auth";

// Items of a ','-separated list, white space around them dropped, as oslo's ListOpt has it.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

// A value with its place; `at` has no file where it is the default.
struct Value {
  std::string text;
  Location at;
  bool service = false;  // it is in a file given with --service-config
};

struct SourceFile {
  IniFile ini;
  bool service =
      false;  // given with --service-config: only shared options count, nothing is checked
};

class Options {
 public:
  // `files` from the weakest to the strongest.
  explicit Options(std::vector<SourceFile> files);

  // Everything in Reclaim's own files that no option answers to, and option names that are older
  // ones or have no effect.
  void check_names(std::vector<Problem>& problems, std::vector<Problem>& warnings) const;

  // Values of an option after substitution: none if it is not set and has no default, more than one
  // only for multi-valued ones. `group` is needed for options of "@auth".
  [[nodiscard]] std::vector<Value> get(std::string_view group, std::string_view name,
                                       std::vector<Problem>& problems) const;

  // True if some file sets it.
  [[nodiscard]] bool given(std::string_view group, std::string_view name) const;

  // The text of each option that a file sets, as it is written there, by "[group] name": to compare
  // two readings. Several values of one option are joined.
  [[nodiscard]] std::map<std::string, std::string> texts() const;

  // The groups of Reclaim's own files that begin with `prefix`, such as "step:", each once.
  [[nodiscard]] std::vector<IniSection> family(std::string_view prefix) const;

  // The three groups that have a login, and those that their auth_section names.
  [[nodiscard]] bool is_auth_group(std::string_view group) const;

  // A name that oslo knows there, and that has no effect in Reclaim.
  [[nodiscard]] static bool is_unused(std::string_view group, std::string_view name);

  // An option by its group and name or one of its aliases; nullptr if there is none.
  [[nodiscard]] const Option* find(std::string_view group, std::string_view name) const;

  // Makes a value that wins over all files; for the query of the transport_url.
  void override_value(std::string_view group, std::string_view name, Value value);

 private:
  struct Override {
    std::string group;
    std::string name;
    Value value;
  };

  // One substitution from its start: how deep it is in references, and how many it has followed.
  struct Pass {
    std::vector<Problem>& problems;
    int depth = 0;
    int references = 0;
  };

  [[nodiscard]] std::vector<Value> raw(const Option& option, std::string_view group) const;
  [[nodiscard]] std::string substitute(const Value& value, std::string_view group,
                                       Pass& pass) const;
  [[nodiscard]] std::string reference(const Value& value, std::string_view group,
                                      std::string_view name, Pass& pass) const;
  [[nodiscard]] std::optional<std::string> refer(std::string_view group, std::string_view name,
                                                 Pass& pass) const;
  void check_section(const IniSection& section, std::vector<Problem>& problems) const;
  void check_entry(const IniEntry& entry, std::vector<Problem>& problems,
                   std::vector<Problem>& warnings) const;

  std::vector<SourceFile> files_;
  std::vector<Override> overrides_;
  std::vector<std::string> auth_groups_;
};

// The nearest of `names` if it is close enough to be a slip of the pen; capitals do not count, nor
// whether '-' or '_' was written.
[[nodiscard]] std::optional<std::string> did_you_mean(std::string_view word,
                                                      const std::vector<std::string>& names);

}  // namespace reclaim::config
