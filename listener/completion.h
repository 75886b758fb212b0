// The completion of bash and zsh, made from the command tree itself, so that it knows each command,
// option and choice that --help shows. Owns nothing. Thread: main, before anything runs.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>

namespace reclaim::listener {

// Adds the hidden command `completion bash|zsh`, which writes the shell's script to `out`. Packages
// are made with it. Both have to outlive the parsing.
void add_completion(CLI::App& app, std::ostream& out);

}  // namespace reclaim::listener
