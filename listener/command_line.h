// Shares what all parts of the command line need: the options that every command has, how a command
// prints, and a session to run it in. Only this and the files that add commands see CLI11.
//
// Thread: main. `line` outlives the parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "config/load.h"

namespace reclaim::listener {

struct CommandLine {
  config::LoadRequest files;
  bool debug = false;
  std::string format;
  std::vector<std::string> columns;
  std::vector<std::string> sort;
  bool descending = false;
  int exit_code = 0;
  // Set by serve and api, which go on: it runs in place of a command, once the parser is gone. Its
  // tree of commands takes memory that they do not need.
  std::function<int()> process;
};

// Says it on standard error; 1.
int complain(const Error& error);

// The settings, a quiet logger and a session for one subcommand.
[[nodiscard]] int with_session(
    const CommandLine& line, const config::LoadRequest& request,
    const std::function<int(cli::Session&, const std::vector<std::string>& files)>& run);

// Refuses empty values in the command and all below it. An empty value, as of a shell's variable
// that is not set, would pass for an option not given.
void refuse_empty(CLI::App* command);
// Accepts one of these words; of a slip of the pen it names the word that may be meant.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);
// Lets the option take one value each time that it is given.
void repeatable(CLI::Option* option);
// Adds --label, which goes with --all-hosts or takes its place.
void add_labels(CLI::App* command, std::vector<std::string>& labels);
void add_format(CLI::App* command, CommandLine& line,
                const std::vector<std::string>& formats = {"table", "json", "yaml", "csv",
                                                           "value"});
// Adds the options of a command that prints a list.
void add_list_format(CLI::App* command, CommandLine& line);
// CLI11's own --help, fitted to the terminal.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_format();
// Tells the streams of this process how wide the terminal behind each is; first of all.
void look_at_terminals();
// 0 where nobody looks at it, but a program reads it or a file takes it.
[[nodiscard]] std::size_t terminal_width();
[[nodiscard]] cli::View view_of(const CommandLine& line);

template <typename Options>
using SessionCommand = int (*)(cli::Session&, const Options&, std::ostream&, std::ostream&);

template <typename Options>
int run_in_session(const CommandLine& line, Options& options, SessionCommand<Options> run) {
  if constexpr (requires { options.view; }) options.view = view_of(line);
  config::LoadRequest request = line.files;
  request.purpose = config::Purpose::tool;
  return with_session(line, request, [&](cli::Session& session, const auto&) {
    return run(session, options, std::cout, std::cerr);
  });
}

template <typename Options>
void runs(CLI::App* command, CommandLine& line, const std::shared_ptr<Options>& options,
          SessionCommand<Options> run) {
  command->callback(
      [&line, options, run] { line.exit_code = run_in_session(line, *options, run); });
}

// device_commands.cpp
void add_device(CLI::App& app, CommandLine& line);
void add_host(CLI::App& app, CommandLine& line);
// certificate_commands.cpp
void add_certificate(CLI::App& app, CommandLine& line);

}  // namespace reclaim::listener
