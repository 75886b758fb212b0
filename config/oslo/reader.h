// Typed reading of merged options: what is wrong is collected with its place, and the default
// stands in so that reading goes on. Inner to config/. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/oslo/options.h"

namespace reclaim::config {

class Reader {
 public:
  // Keeps both references; problems are appended.
  Reader(const Options& options, std::vector<Problem>& problems)
      : options_(options), problems_(problems) {}

  // Each CHECKs that the schema has the option. Values out of the schema's range or choices are
  // problems.
  [[nodiscard]] std::string string(std::string_view group, std::string_view name) const;
  // The index of the value among the option's choices.
  [[nodiscard]] std::size_t choice(std::string_view group, std::string_view name) const;
  [[nodiscard]] int integer(std::string_view group, std::string_view name) const;
  [[nodiscard]] double real(std::string_view group, std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view group, std::string_view name) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view group, std::string_view name) const;
  [[nodiscard]] std::vector<Value> multi(std::string_view group, std::string_view name) const;

  // The place where its value was written; no file if it is the default.
  [[nodiscard]] Location where(std::string_view group, std::string_view name) const;
  [[nodiscard]] bool given(std::string_view group, std::string_view name) const {
    return options_.given(group, name);
  }
  [[nodiscard]] std::vector<IniSection> family(std::string_view prefix) const {
    return options_.family(prefix);
  }
  // True if one of Reclaim's own files sets it, and none with --service-config that is weaker.
  [[nodiscard]] bool given_by_us(std::string_view group, std::string_view name) const;
  // "FILE:LINE: [group] name TEXT" (or ": TEXT") where the option was set, else without a place.
  void complain(std::string_view group, std::string_view name, std::string_view text) const;
  // Complains of a value, which is quoted: "...: 'VALUE' WHY".
  void refuse(std::string_view group, std::string_view name, std::string_view value,
              std::string_view why) const;

 private:
  struct One {
    const Option* option;
    Value value;
    bool set;  // it has a value or a default
  };
  [[nodiscard]] One one(std::string_view group, std::string_view name) const;
  void wrong(std::string_view group, const One& one, std::string_view expected) const;
  void check_form(std::string_view group, const Option& option, std::string_view text) const;

  const Options& options_;
  std::vector<Problem>& problems_;
};

}  // namespace reclaim::config
