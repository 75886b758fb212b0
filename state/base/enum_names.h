// The words of an enumeration: one table, from which both ways and the list of what is accepted
// follow. Pure; thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace reclaim {

template <typename Enum, std::size_t N>
struct EnumNames {
  std::array<std::string_view, N> names;  // by the enumerator's number

  [[nodiscard]] constexpr std::string_view operator[](Enum value) const {
    return names.at(static_cast<std::size_t>(value));
  }
  [[nodiscard]] constexpr std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }
  // "a, b and c" with " and " before the last.
  [[nodiscard]] std::string list(std::string_view before_last = ", ") const {
    std::string text;
    for (std::size_t i = 0; i < N; ++i) {
      text += (i == 0 ? std::string_view() : i + 1 == N ? before_last : ", ");
      text += names.at(i);
    }
    return text;
  }
};

// One name for each enumerator up to the last, in their order.
template <auto Last, typename... Names>
[[nodiscard]] consteval auto enum_names(Names... names) {
  static_assert(sizeof...(names) == static_cast<std::size_t>(Last) + 1);
  return EnumNames<decltype(Last), sizeof...(names)>{{std::string_view(names)...}};
}

}  // namespace reclaim
