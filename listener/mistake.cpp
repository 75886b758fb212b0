#include "listener/mistake.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/oslo/options.h"
#include "listener/command_line.h"

namespace reclaim::listener {
namespace {

// The command as far as it was understood.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? app : innermost(*below.front());
}

// The words that may stand there: "--all-hosts", "list".
std::vector<std::string> words_of(const CLI::App& app, const CLI::App& command, bool options) {
  std::vector<std::string> words;
  if (!options) {
    for (const CLI::App* each : command.get_subcommands({})) words.push_back(each->get_name());
    return words;
  }
  for (const CLI::App* each : {&command, &app}) {
    for (const CLI::Option* option : each->get_options({})) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  }
  return words;
}

}  // namespace

int explain_mistake(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked_for_help = error.get_exit_code() == 0;
  const std::vector<std::string> not_understood = app.remaining(true);
  if (asked_for_help || not_understood.empty()) return app.exit(error) == 0 ? 0 : 2;
  const std::string& word = not_understood.front();
  const bool option = word.starts_with('-');
  const auto meant =
      config::did_you_mean(word.substr(0, word.find('=')), words_of(app, innermost(app), option));
  return complain(Error{
      Errc::usage, fmt::format("unknown {} '{}'; {}", option ? "option" : "argument", word,
                               meant ? fmt::format("did you mean '{}'?", *meant) : "see --help")});
}

}  // namespace reclaim::listener
