// The one field vocabulary. A struct tells its fields once, in its own namespace:
//
//   template <typename Visit>
//   void visit_fields(Visit& visit, field::Of<Arq> auto& arq) {
//     visit("uuid", arq.uuid);
//     visit.text("state", arq.state, parse_arq_state);
//     visit("listed", arq.listed, field::Rule::lenient);
//   }
//
// From it follow the JSON object, the fields of a hash in Redis, and both ways back. Fields are
// written in the order told: seals and certificates rest on that. Pure; thread: any.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "state/base/clock.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/rapidjson.h"
#include "state/base/result.h"
#include "state/base/text.h"

namespace reclaim::field {

// A struct to be written or to be read.
template <typename T, typename Struct>
concept Of = std::same_as<std::remove_const_t<T>, Struct>;

// The rule of a field: how a reader takes it where it is absent or wrong. A field that is not read
// stays as it was.
enum class Rule : std::uint8_t {
  required,  // both are errors
  younger,   // may be absent, as where the version before did not write it
  lenient,   // neither is an error
  sparse,    // lenient; and written only where it is not empty, 0 or false
};

inline constexpr std::size_t kItemsMax = 2048;  // of a list

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// A time's text; empty: never.
[[nodiscard]] inline std::string time_text(WallMs at) {
  return at.ms == 0 ? std::string() : to_iso8601(at);
}

// The text of what has to_string(), or of an optional one.
struct ToText {
  template <typename T>
  [[nodiscard]] std::string operator()(const T& value) const {
    if constexpr (kIsOptional<T>) {
      return value ? (*this)(*value) : std::string();
    } else {
      return std::string(to_string(value));
    }
  }
};

class JsonWriter final {
 public:
  JsonWriter(rapidjson::Value& object, rapidjson::Document::AllocatorType& allocator)
      : object_(object), allocator_(allocator) {}

  // True if the next fields are to be told. This writer tells those that `written` says; a reader
  // takes what is there.
  [[nodiscard]] static bool wants(bool written) { return written; }

  template <typename T>
  void operator()(const char* name, const T& value, Rule rule = Rule::required) {
    if (rule != Rule::sparse || value != T{}) add(name, to_json(value));
  }
  // A value told as text.
  template <typename T, typename Read, typename Write = ToText>
  void text(const char* name, const T& value, const Read& /*read*/, Rule rule = Rule::required,
            const Write& write = {}) {
    (*this)(name, write(value), rule);
  }
  // A time that is told though it be 0.
  void moment(const char* name, WallMs at, Rule rule = Rule::required) {
    (*this)(name, to_iso8601(at), rule);
  }
  // A JSON text (state/base/embedded_json.h).
  void embedded(const char* name, const std::string& json_text, Rule rule = Rule::required) {
    if (rule != Rule::sparse || !json_text.empty()) add(name, embed(json_text, allocator_));
  }

 private:
  void add(const char* name, rapidjson::Value value) {
    object_.AddMember(rapidjson::StringRef(name), value, allocator_);
  }

  template <typename T>
  rapidjson::Value to_json(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return rapidjson::Value(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      return rapidjson::Value(std::uint64_t{value});
    } else if constexpr (std::is_integral_v<T>) {
      return rapidjson::Value(std::int64_t{value});
    } else if constexpr (std::is_same_v<T, std::string>) {
      return json_string(value, allocator_);
    } else if constexpr (std::is_same_v<T, WallMs>) {
      return json_string(time_text(value), allocator_);
    } else if constexpr (kIsOptional<T>) {
      return value ? to_json(*value) : rapidjson::Value();
    } else if constexpr (kIsVector<T>) {
      rapidjson::Value array(rapidjson::kArrayType);
      for (const auto& each : value) array.PushBack(to_json(each), allocator_);
      return array;
    } else {
      rapidjson::Value object(rapidjson::kObjectType);
      JsonWriter writer(object, allocator_);
      visit_fields(writer, value);
      return object;
    }
  }

  rapidjson::Value& object_;
  rapidjson::Document::AllocatorType& allocator_;
};

// Remembers the first thing that is wrong and where: "'namespaces[0].nsid' is absent".
class JsonReader final {
 public:
  JsonReader(const rapidjson::Value& object, std::string path, std::string& problem)
      : object_(object), path_(std::move(path)), problem_(problem) {}

  [[nodiscard]] static bool wants(bool /*written*/) { return true; }

  template <typename T>
  void operator()(const char* name, T& value, Rule rule = Rule::required) {
    take<T>(name, value, rule,
            [](JsonReader& reader, const rapidjson::Value& from, const std::string& where, T& to) {
              reader.read(from, where, to);
            });
  }
  template <typename T, typename Read, typename Write = ToText>
  void text(const char* name, T& value, const Read& parse, Rule rule = Rule::required,
            const Write& /*write*/ = {}) {
    take<std::string>(name, value, rule,
                      [&parse](JsonReader& reader, const rapidjson::Value& from,
                               const std::string& where, T& to) {
                        std::string told;
                        reader.read(from, where, told);
                        if (!reader.problem_.empty() || (kIsOptional<T> && told.empty())) return;
                        auto parsed = parse(told);
                        if (!parsed.ok()) return reader.wrong(where, ": " + parsed.error().what);
                        to = *std::move(parsed);
                      });
  }
  void moment(const char* name, WallMs& at, Rule rule = Rule::required) {
    text(name, at, from_iso8601, rule);
  }
  void embedded(const char* name, std::string& json_text, Rule rule = Rule::required) {
    take<rapidjson::Value>(name, json_text, rule,
                           [](JsonReader& reader, const rapidjson::Value& from,
                              const std::string& where, std::string& to) {
                             if (!from.IsObject() && !from.IsString())
                               return reader.wrong(where, " is not an object");
                             to = unembed(from);
                           });
  }

 private:
  template <typename T>
  static std::string needed() {
    if constexpr (std::is_same_v<T, bool>) {
      return "true or false";
    } else if constexpr (std::is_integral_v<T>) {
      return fmt::format("a number of {} bits", sizeof(T) * 8);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, WallMs>) {
      return "a string";
    } else if constexpr (kIsOptional<T>) {
      return needed<typename T::value_type>();
    } else {
      return kIsVector<T> ? "a list" : "an object";
    }
  }

  // `Told`: the type that the member is told as.
  template <typename Told, typename T, typename Take>
  void take(const char* name, T& value, Rule rule, const Take& how) {
    if (!problem_.empty()) return;
    const std::string where = path_.empty() ? name : path_ + "." + name;
    const rapidjson::Value* member = json::find(object_, name);
    if (member == nullptr) {
      if (rule == Rule::required)
        wrong(where, fmt::format(" is absent, {} is needed", needed<Told>()));
    } else if (rule == Rule::lenient || rule == Rule::sparse) {
      std::string ignored;
      JsonReader reader(object_, path_, ignored);
      T read{};
      how(reader, *member, where, read);
      if (ignored.empty()) value = std::move(read);
    } else {
      how(*this, *member, where, value);
    }
  }

  void wrong(const std::string& where, const std::string& what) {
    if (problem_.empty()) problem_ = fmt::format("'{}'{}", where, what);
  }

  template <typename T>
  void read(const rapidjson::Value& from, const std::string& where, T& value) {
    if (!problem_.empty()) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.IsBool()) return wrong(where, " is not true or false");
      value = from.GetBool();
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!from.IsUint64() || from.GetUint64() > std::numeric_limits<T>::max()) {
        return wrong(where, fmt::format(" is not a number of {} bits", sizeof(T) * 8));
      }
      value = static_cast<T>(from.GetUint64());
    } else if constexpr (std::is_integral_v<T>) {
      if (!from.IsInt64() || !std::in_range<T>(from.GetInt64())) {
        return wrong(where, fmt::format(" is not a number of {} bits", sizeof(T) * 8));
      }
      value = static_cast<T>(from.GetInt64());
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.IsString()) return wrong(where, " is not a string");
      value.assign(from.GetString(), from.GetStringLength());
    } else if constexpr (std::is_same_v<T, WallMs>) {
      std::string told;
      read(from, where, told);
      if (told.empty()) return;
      const Result<WallMs> at = from_iso8601(told);
      if (!at.ok()) return wrong(where, ": " + at.error().what);
      value = *at;
    } else if constexpr (kIsOptional<T>) {
      value.reset();
      if (!from.IsNull()) read(from, where, value.emplace());
    } else if constexpr (kIsVector<T>) {
      if (!from.IsArray() || from.Size() > kItemsMax)
        return wrong(where, " is not a list that is accepted");
      value.clear();
      for (const rapidjson::Value& each : from.GetArray()) {
        value.emplace_back();
        read(each, fmt::format("{}[{}]", where, value.size() - 1), value.back());
      }
    } else {
      if (!from.IsObject()) return wrong(where, " is not an object");
      JsonReader inner(from, where, problem_);
      visit_fields(inner, value);
    }
  }

  const rapidjson::Value& object_;
  std::string path_;
  std::string& problem_;
};

// Field and value as text, as a hash and a stream of Redis have them.
using Texts = std::map<std::string, std::string>;

class TextWriter final {
 public:
  [[nodiscard]] static bool wants(bool written) { return written; }

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& pairs() const {
    return pairs_;
  }

  template <typename T>
  void operator()(const char* name, const T& value, Rule /*rule*/ = Rule::required) {
    if constexpr (std::is_same_v<T, bool>) {
      pairs_.emplace_back(name, value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
      pairs_.emplace_back(name, std::to_string(value));
    } else if constexpr (std::is_same_v<T, WallMs>) {
      pairs_.emplace_back(name, time_text(value));
    } else if constexpr (kIsOptional<T>) {
      pairs_.emplace_back(name, value ? std::to_string(*value) : std::string());
    } else {
      pairs_.emplace_back(name, value);
    }
  }
  template <typename T, typename Read, typename Write = ToText>
  void text(const char* name, const T& value, const Read& /*read*/, Rule /*rule*/ = Rule::required,
            const Write& write = {}) {
    pairs_.emplace_back(name, write(value));
  }
  void moment(const char* name, WallMs at, Rule /*rule*/ = Rule::required) {
    pairs_.emplace_back(name, to_iso8601(at));
  }
  void percent(const char* name, double value);
  // Tells a text that follows from other fields, for people to read.
  void derived(const char* name, std::string_view value) { pairs_.emplace_back(name, value); }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

class TextReader final {
 public:
  explicit TextReader(const Texts& texts) : texts_(texts) {}

  [[nodiscard]] static bool wants(bool /*written*/) { return true; }

  // The first thing that is wrong.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

  template <typename T>
  void operator()(const char* name, T& value, Rule rule = Rule::required) {
    const std::string* told = find(name, rule);
    if (told == nullptr) return;
    if constexpr (std::is_same_v<T, std::string>) {
      value = *told;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (*told != "true" && *told != "false") wrong(name, *told, "true or false", rule);
      value = *told == "true";
    } else if constexpr (std::is_same_v<T, WallMs>) {
      if (told->empty()) return;
      const Result<WallMs> at = from_iso8601(*told);
      if (!at.ok()) return wrong(name, *told, "a time like 2026-11-20T21:22:44.123Z", rule);
      value = *at;
    } else if constexpr (kIsOptional<T>) {
      if (told->empty()) return;
      value = parse_number<typename T::value_type>(*told);
      if (!value) wrong(name, *told, "a whole number or nothing", rule);
    } else {
      const auto number = parse_number<T>(*told);
      if (!number) return wrong(name, *told, "a whole number", rule);
      value = *number;
    }
  }
  template <typename T, typename Read, typename Write = ToText>
  void text(const char* name, T& value, const Read& parse, Rule rule = Rule::required,
            const Write& /*write*/ = {}) {
    const std::string* told = find(name, rule);
    if (told == nullptr) return;
    Result<T> parsed = parse(*told);
    if (!parsed.ok()) return fail(parsed.error().wrap(fmt::format("field '{}'", name)), rule);
    value = *std::move(parsed);
  }
  void moment(const char* name, WallMs& at, Rule rule = Rule::required) { (*this)(name, at, rule); }
  void percent(const char* name, double& value);
  void derived(const char* name, std::string_view /*value*/) { find(name, Rule::required); }

  void wrong(std::string_view name, std::string_view told, std::string_view needed,
             Rule rule = Rule::required);
  void fail(Error error, Rule rule = Rule::required) {
    const bool ignored = rule == Rule::lenient || rule == Rule::sparse;
    if (!ignored && !problem_) problem_ = std::move(error);
  }

 private:
  const std::string* find(const std::string& name, Rule rule);

  const Texts& texts_;
  std::optional<Error> problem_;
};

// The members of `value`, behind those that `object` has.
template <typename Struct>
void add_members(rapidjson::Document& object, const Struct& value) {
  JsonWriter writer(object, object.GetAllocator());
  visit_fields(writer, value);
}

template <typename Struct>
[[nodiscard]] std::string to_json_text(const Struct& value) {
  rapidjson::Document document(rapidjson::kObjectType);
  add_members(document, value);
  return json::to_text(document);
}

// Errc::invalid names the member that is wrong.
template <typename Struct>
[[nodiscard]] Result<Struct> from_json(const rapidjson::Value& object) {
  Struct value;
  std::string problem;
  JsonReader reader(object, "", problem);
  visit_fields(reader, value);
  if (!problem.empty()) return Error{Errc::invalid, std::move(problem)};
  return value;
}

template <typename Struct>
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_pairs(const Struct& value) {
  TextWriter writer;
  visit_fields(writer, value);
  return writer.pairs();
}

template <typename Struct>
[[nodiscard]] Texts to_texts(const Struct& value) {
  const auto pairs = to_pairs(value);
  return {pairs.begin(), pairs.end()};
}

// Reads a struct that cannot be wrong: every field is lenient.
template <typename Struct>
[[nodiscard]] Struct from_texts(const Texts& texts) {
  Struct value;
  TextReader reader(texts);
  visit_fields(reader, value);
  return value;
}

}  // namespace reclaim::field
