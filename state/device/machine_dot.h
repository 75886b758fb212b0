// The life of a device as a picture, in the language of Graphviz. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace reclaim {

enum class MachineView : std::uint8_t {
  main,  // the way of a device that nothing goes wrong with, where it waits, and what ends in error
  all,   // every row of the table
};

[[nodiscard]] std::string render_machine_dot(MachineView view);

}  // namespace reclaim
