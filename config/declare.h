// Declares each option once: its name, default, bounds and help, and the member of the settings
// that it fills, from which follows its type. Inner to config/: for the tables that
// config/schema.cpp joins.
//
//   kRedis.option<&Settings::redis, &RedisOptions::db>({.name = "db", .fallback = "0", ...})
//
// Without a member an option is only known by name: code that reads its group gives it its meaning.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/oslo/reader.h"
#include "config/settings.h"

namespace reclaim::config {

inline constexpr int kMsPerS = 1000;

// The objects whose members are filled.
struct Target {
  Settings& settings;
  placement::Options* session = nullptr;  // of a group that has a login or an endpoint
  OperatorStep* step = nullptr;           // of a [step:NAME] section
};

template <typename T>
constexpr OptionType type_of() {
  if constexpr (std::is_same_v<T, bool>) return OptionType::boolean;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return OptionType::integer;
  if constexpr (std::is_floating_point_v<T>) return OptionType::real;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return OptionType::list;
  return OptionType::string;
}

// An enumeration is filled by its option's choices, which stand in the order of its enumerators.
template <typename T>
void fill(const Reader& read, std::string_view group, const Option& option, T& out) {
  if constexpr (std::is_enum_v<T>) {
    out = static_cast<T>(read.choice(group, option.name));
  } else if constexpr (type_of<T>() == OptionType::boolean) {
    out = read.boolean(group, option.name);
  } else if constexpr (type_of<T>() == OptionType::integer) {
    out = static_cast<T>(read.integer(group, option.name)) * static_cast<T>(option.times);
  } else if constexpr (type_of<T>() == OptionType::real) {
    out = read.real(group, option.name);
  } else if constexpr (type_of<T>() == OptionType::list) {
    out = read.list(group, option.name);
  } else {
    out = read.string(group, option.name);
  }
}

// Finds the object in which a path of members begins: the settings, the options of a session, or a
// step.
template <typename Class, typename Member>
Class class_of(Member Class::*);
template <auto kFirst, auto...>
auto& root(const Target& target) {
  if constexpr (std::is_same_v<decltype(class_of(kFirst)), placement::Options>) {
    return *target.session;
  } else if constexpr (std::is_same_v<decltype(class_of(kFirst)), OperatorStep>) {
    return *target.step;
  } else {
    return target.settings;
  }
}
template <auto... kPath>
auto& member(const Target& target) {
  return (root<kPath...>(target).*....*kPath);
}

template <auto... kPath>
void fill_member(const Reader& read, std::string_view group, const Option& option,
                 const Target& target) {
  fill(read, group, option, member<kPath...>(target));
}

// Declares the options of a group. `shared`: all of them are read from a service's files, too.
struct Group {
  std::string_view name;
  bool shared = false;

  // `kPath` leads from Settings, from the options of the group's session, or from the step, to the
  // member.
  template <auto... kPath>
  constexpr Option option(Option given) const {
    given.group = name;
    given.shared = given.shared || shared;
    if constexpr (sizeof...(kPath) > 0) {
      using Member = std::remove_reference_t<decltype(member<kPath...>(std::declval<Target>()))>;
      given.type = type_of<Member>();
      given.fill = &fill_member<kPath...>;
    }
    return given;
  }
};

}  // namespace reclaim::config
