#include "config/oslo/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "state/base/check.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kTextBytes = 255;  // of a path, a name or a URL

// Python's int(): white space around it, a sign.
std::optional<std::int64_t> to_integer(std::string_view text) {
  text = strip(text);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  return parse_number<std::int64_t>(text);
}

std::optional<double> to_real(std::string_view text) {
  const auto value = parse_number<double>(strip(text));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// oslo.config's Boolean: fewer words than oslo.utils' bool_from_string().
std::optional<bool> to_boolean(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "1" || word == "on" || word == "yes") return true;
  if (word == "false" || word == "0" || word == "off" || word == "no") return false;
  return std::nullopt;
}

}  // namespace

Reader::One Reader::one(std::string_view group, std::string_view name) const {
  One found{options_.find(group, name), {}, false};
  CHECK(found.option != nullptr);
  std::vector<Value> values = options_.get(group, name, problems_);
  if (values.empty()) return found;
  found.value = std::move(values.back());
  found.set = true;
  return found;
}

// Only options with a type or with choices get here, and no secret has either: the value may be
// quoted.
void Reader::wrong(std::string_view group, const One& one, std::string_view expected) const {
  CHECK(!one.option->secret);
  problems_.push_back({one.value.at, fmt::format("[{}] {}: '{}' is not {}", group, one.option->name,
                                                 printable_excerpt(one.value.text), expected)});
}

void Reader::complain(std::string_view group, std::string_view name, std::string_view text) const {
  problems_.push_back({where(group, name), fmt::format("[{}] {}{}", group, name, text)});
}

void Reader::refuse(std::string_view group, std::string_view name, std::string_view value,
                    std::string_view why) const {
  complain(group, name, fmt::format(": '{}' {}", printable_excerpt(value, kTextBytes), why));
}

Location Reader::where(std::string_view group, std::string_view name) const {
  std::vector<Problem> reported_when_read;
  const std::vector<Value> values = options_.get(group, name, reported_when_read);
  return values.empty() ? Location{} : values.back().at;
}

bool Reader::given_by_us(std::string_view group, std::string_view name) const {
  std::vector<Problem> reported_when_read;
  const std::vector<Value> values = options_.get(group, name, reported_when_read);
  return given(group, name) && !values.empty() && !values.back().service;
}

void Reader::check_form(std::string_view group, const Option& option, std::string_view text) const {
  const bool is_default = option.fallback == text;
  if (option.form == Form::path && !text.starts_with('/') && !is_default) {
    refuse(group, option.name, text, "is not an absolute path");
  }
  if (option.form != Form::url || text.empty()) return;
  const bool scheme = text.starts_with("http://") || text.starts_with("https://");
  const std::size_t host = text.find("://") + 3;
  const bool clean =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  if (!scheme || host >= text.size() || text[host] == '/' || !clean) {
    refuse(group, option.name, text, "is not an http:// or https:// URL");
  } else if (text.find('@') != std::string_view::npos) {
    complain(group, option.name, " must hold neither user nor password");
  }
}

std::string Reader::string(std::string_view group, std::string_view name) const {
  const One found = one(group, name);
  const std::vector<std::string> choices = split_list(found.option->choices);
  check_form(group, *found.option, found.value.text);
  if (choices.empty() || !found.set) return found.value.text;
  if (std::find(choices.begin(), choices.end(), found.value.text) != choices.end()) {
    return found.value.text;
  }
  std::string accepted;
  for (const std::string& choice : choices) {
    accepted += fmt::format("{}{}", accepted.empty() ? "one of: " : ", ", choice);
  }
  wrong(group, found, accepted);
  return std::string(found.option->fallback.value_or(""));
}

std::size_t Reader::choice(std::string_view group, std::string_view name) const {
  const std::vector<std::string> choices = split_list(options_.find(group, name)->choices);
  const auto chosen = std::find(choices.begin(), choices.end(), string(group, name));
  CHECK(chosen != choices.end());
  return static_cast<std::size_t>(chosen - choices.begin());
}

int Reader::integer(std::string_view group, std::string_view name) const {
  One found = one(group, name);
  const Option& option = *found.option;
  CHECK(option.fallback && option.range);
  const int fallback = static_cast<int>(to_integer(*option.fallback).value_or(0));
  if (strip(found.value.text).empty()) return fallback;  // oslo: an empty number is not set
  const auto value = to_integer(found.value.text);
  if (!value || *value < option.range->min || *value > option.range->max) {
    wrong(group, found,
          fmt::format("an integer from {} to {}", option.range->min, option.range->max));
    return fallback;
  }
  return static_cast<int>(*value);
}

double Reader::real(std::string_view group, std::string_view name) const {
  const One found = one(group, name);
  const Option& option = *found.option;
  CHECK(option.fallback && option.range);
  const double fallback = to_real(*option.fallback).value_or(0);
  if (strip(found.value.text).empty()) return fallback;
  const auto value = to_real(found.value.text);
  if (!value || *value < static_cast<double>(option.range->min) ||
      *value > static_cast<double>(option.range->max)) {
    wrong(group, found,
          fmt::format("a number from {} to {}", option.range->min, option.range->max));
    return fallback;
  }
  return *value;
}

bool Reader::boolean(std::string_view group, std::string_view name) const {
  const One found = one(group, name);
  CHECK(found.option->fallback.has_value());
  if (const auto value = to_boolean(found.value.text)) return *value;
  wrong(group, found, "a boolean, accepted: true, false, 1, 0, on, off, yes, no");
  return to_boolean(*found.option->fallback).value_or(false);
}

std::vector<std::string> Reader::list(std::string_view group, std::string_view name) const {
  return split_list(one(group, name).value.text);
}

std::vector<Value> Reader::multi(std::string_view group, std::string_view name) const {
  return options_.get(group, name, problems_);
}

}  // namespace reclaim::config
