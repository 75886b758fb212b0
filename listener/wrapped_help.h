// The text of --help, fitted to the terminal that shows it. Pure. Thread: main.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace reclaim::listener {

// CLI11's own text with the lines that are too long broken behind a blank, and what goes on set
// below what it belongs to. 0: no terminal, nothing is broken.
class WrappedHelp final : public CLI::Formatter {
 public:
  explicit WrappedHelp(std::size_t width) : width_(width) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::size_t width_;
};

}  // namespace reclaim::listener
