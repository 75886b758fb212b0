#include "state/device/order_args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

constexpr std::size_t kArgsBytesMax = std::size_t{32} * 1024;
constexpr std::int64_t kPatternMemoryMax = std::int64_t{1} << 20;

Error wrong(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

std::string_view text_of(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::unique_ptr<re2::RE2> compiled(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kPatternMemoryMax);
  return std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
}

bool matches(const re2::RE2& pattern, std::string_view text) {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

Status check_pattern(std::string_view pattern) {
  if (pattern.size() > kOrderPatternBytesMax) {
    return Error{Errc::limit, fmt::format("a pattern of {} bytes, {} are allowed", pattern.size(),
                                          kOrderPatternBytesMax)};
  }
  const auto program = compiled(pattern);
  if (!program->ok()) return wrong("a pattern that cannot be read: " + program->error());
  if (pattern.starts_with('/')) {
    return wrong("a pattern that begins with '/', and no pattern accepts a '/': list the texts");
  }
  return Ok{};
}

Status check_texts(const rapidjson::Value& list) {
  if (list.Empty()) return wrong("a list without a text: name what an order may set");
  for (const rapidjson::Value& each : list.GetArray()) {
    const bool fits = each.IsString() && each.GetStringLength() <= kOrderedArgBytesMax;
    if (!fits) {
      return wrong(
          fmt::format("a list with something else than texts of {} bytes", kOrderedArgBytesMax));
    }
  }
  return Ok{};
}

// Checks the rule of one argument, as check_order_args() does all.
Status check_rule(const rapidjson::Value& rule) {
  if (rule.IsString()) return check_pattern(text_of(rule));
  if (rule.IsArray()) return check_texts(rule);
  return wrong("neither a pattern nor a list of texts");
}

std::string accepted_by(const rapidjson::Value& rule) {
  if (rule.IsString()) return fmt::format("what matches {} and has no '/'", text_of(rule));
  std::vector<std::string_view> texts;
  for (const rapidjson::Value& each : rule.GetArray()) texts.push_back(text_of(each));
  return fmt::to_string(fmt::join(texts, ", "));
}

// True if the rule accepts the text. A pattern easily accepts more than was meant: no path is among
// it.
bool accepts(const rapidjson::Value& rule, std::string_view text) {
  if (rule.IsString()) {
    const auto pattern = compiled(text_of(rule));
    return pattern->ok() && text.find('/') == std::string_view::npos && matches(*pattern, text);
  }
  return std::any_of(rule.Begin(), rule.End(),
                     [text](const rapidjson::Value& each) { return text_of(each) == text; });
}

Status check_one(std::string_view name, const rapidjson::Value& value,
                 const rapidjson::Value& rule) {
  if (!value.IsString()) return wrong(fmt::format("'{}' is not a text", name));
  const std::string_view text = text_of(value);
  if (text.size() > kOrderedArgBytesMax) {
    return Error{Errc::limit, fmt::format("'{}' has {} bytes, {} are allowed", name, text.size(),
                                          kOrderedArgBytesMax)};
  }
  // A pattern such as [^/]* means no line break.
  if (printable_excerpt(text, kOrderedArgBytesMax) == text && accepts(rule, text)) return Ok{};
  return wrong(fmt::format("'{}' may not be '{}'; accepted is {}", name,
                           printable_excerpt(text, 40), accepted_by(rule)));
}

bool has_slash(const rapidjson::Value& value) {
  return value.IsString() && text_of(value).find('/') != std::string_view::npos;
}

bool may_be_path(const rapidjson::Value& rule) {
  return rule.IsArray() && std::any_of(rule.Begin(), rule.End(), has_slash);
}

rapidjson::Document object_of(std::string_view text) {
  auto parsed = json::parse(text, kArgsBytesMax);
  if (parsed && parsed->IsObject()) return *std::move(parsed);
  return rapidjson::Document(rapidjson::kObjectType);
}

}  // namespace

Status check_order_args(std::string_view allowed) {
  const auto rules = parse_shallow(allowed, kArgsBytesMax);
  if (!rules) return rules.error();
  if (!rules->IsObject()) return wrong(R"(it is not a JSON object like {"bus": "[0-9a-f]{2}"})");
  for (const auto& rule : rules->GetObject()) {
    if (Status good = check_rule(rule.value); !good) {
      return Error{
          good.error().code,
          fmt::format("'{}' has {}", printable_excerpt(text_of(rule.name), 40), good.error().what)};
    }
  }
  return Ok{};
}

Status check_ordered_args(std::string_view given, std::string_view allowed) {
  const auto args = json::parse(given, kArgsBytesMax);
  if (!args || !args->IsObject()) return wrong("it is not an object");
  const auto rules = object_of(allowed);
  for (const auto& arg : args->GetObject()) {
    const std::string name = printable_excerpt(text_of(arg.name), 40);
    const auto rule = rules.FindMember(arg.name);
    if (rule == rules.MemberEnd() || !check_rule(rule->value)) {
      std::vector<std::string_view> names;
      for (const auto& each : rules.GetObject()) names.push_back(text_of(each.name));
      return wrong(fmt::format(
          "an order may not set '{}'; it may set {} (order_args of the step's section)", name,
          names.empty() ? std::string("nothing") : fmt::to_string(fmt::join(names, ", "))));
    }
    if (Status good = check_one(name, arg.value, rule->value); !good) return good;
  }
  return Ok{};
}

std::vector<std::string> paths_in_order_args(std::string_view allowed,
                                             std::string_view configured) {
  const auto rules = object_of(allowed);
  const auto args = object_of(configured);
  std::vector<std::string> out;
  for (const auto& rule : rules.GetObject()) {
    const auto value = args.FindMember(rule.name);
    const bool is_path = value != args.MemberEnd() && has_slash(value->value);
    if (is_path || may_be_path(rule.value)) out.emplace_back(text_of(rule.name));
  }
  return out;
}

std::string merged_args(std::string_view configured, std::string_view given) {
  rapidjson::Document document = object_of(configured);
  auto& allocator = document.GetAllocator();
  const auto over = object_of(given);
  for (const auto& member : over.GetObject()) {
    document.RemoveMember(member.name);
    document.AddMember(rapidjson::Value(member.name, allocator),
                       rapidjson::Value(member.value, allocator), allocator);
  }
  return json::to_text(document);
}

Status check_planned_args(std::string_view args, std::string_view configured,
                          std::string_view allowed) {
  rapidjson::Document changed = object_of(args);
  const auto fixed = object_of(configured);
  for (const auto& member : fixed.GetObject()) {
    const auto planned = changed.FindMember(member.name);
    if (planned == changed.MemberEnd()) {
      return wrong(
          fmt::format("the plan has no '{}'", printable_excerpt(text_of(member.name), 40)));
    }
    if (planned->value == member.value) changed.RemoveMember(planned);
  }
  return check_ordered_args(json::to_text(changed), allowed);
}

}  // namespace reclaim
