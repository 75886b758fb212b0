#include "listener/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::listener {
namespace {

// Finds what the words before the cursor mean, and offers what may follow. Its tables come before.
// bash takes an address for several words, because of its colons: what stands before the last one
// is completed with it, and not offered again.
constexpr std::string_view kBash = R"bash(
_reclaim_devices() {
  local typed=${COMP_LINE-} kept=''
  typed=${typed:0:${COMP_POINT-0}}
  typed=${typed##* }
  [[ ${COMP_WORDBREAKS-} == *:* && $typed == *:* ]] && kept=${typed%:*}:
  local words kernel=''
  words=$(reclaim device list "$@" -f value -c Address -c Serial 2>/dev/null)
  [[ $# -gt 0 ]] || kernel=$(command ls /sys/class/nvme 2>/dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$words $kernel" -- "${typed:-$current}")
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

_reclaim() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' option='' taken='' word i host=()
  local commands options valued positional
  COMPREPLY=()
  _reclaim_table ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then
      option=${option:-$taken}
      continue
    fi
    taken=$option
    option=''
    if [[ -n $taken ]]; then
      [[ $taken != --host ]] || host=(--host "$word")
    elif [[ " $valued " == *" $word "* ]]; then
      option=$word
    elif [[ " $commands " == *" $word "* ]]; then
      command="${command:+$command }$word"
      _reclaim_table "$command"
    fi
  done
  if [[ $current == '=' ]]; then
    option=${option:-$taken}
    current=''
  fi
  local words="$commands $positional"
  if [[ -n $option ]]; then
    words=$(_reclaim_choices "$command" "$option")
  elif [[ $current == -* ]]; then
    words=$options
  fi
  if [[ $words == *DEVICES ]]; then
    _reclaim_devices "${host[@]}"
  elif [[ $words == *HOSTS ]]; then
    words=$(reclaim host list -f value -c Host 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $words == *FILES ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}
complete -F _reclaim reclaim
)bash";

using Options = std::vector<const CLI::Option*>;

std::string with_blanks(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() != 0;
}

// The option's names as a caller writes them: -f, --format.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// CLI11 keeps the choices of IsMember only as the text that --help shows: TEXT:{on,off}.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

// As an argument, or as the value of an option. Other options take a word that is not known here.
bool names_a_file(const CLI::Option& option) {
  constexpr std::array<std::string_view, 7> kOptions = {
      "--config-file", "--config-dir", "--service-config", "--folder",
      "--public-key",  "--report",     "--steps"};
  const std::string name = option.get_name();
  return name.find("FILE") != std::string::npos || name.find("KEY") != std::string::npos ||
         std::find(kOptions.begin(), kOptions.end(), name) != kOptions.end();
}

bool names_a_device(const CLI::Option& positional) {
  return positional.get_name().find("DEVICE") != std::string::npos;
}

// As an argument, or as the value of --host.
bool names_a_host(const CLI::Option& option) {
  const std::string name = option.get_name();
  return name == "HOST" || name == "--host";
}

// Every option may follow its command, and the program's own ones every command but --version.
Options options_of(const CLI::App& app, const CLI::App& command, bool positional) {
  Options found;
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_positional() == positional) found.push_back(option);
  }
  if (&command == &app || positional) return found;
  for (const CLI::Option* option : app.get_options({})) {
    const bool own = option == app.get_help_ptr() || option == app.get_version_ptr();
    if (!own) found.push_back(option);
  }
  return found;
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

// Visits the command and all below it, with the words that lead there.
template <typename Visit>
void walk(const CLI::App& command, const std::string& words, const Visit& visit) {
  visit(command, words);
  for (const CLI::App* each : commands_of(command)) {
    walk(*each, words + (words.empty() ? "" : " ") + each->get_name(), visit);
  }
}

std::string bash_row(const CLI::App& app, const CLI::App& command, const std::string& words) {
  std::vector<std::string> commands;
  for (const CLI::App* each : commands_of(command)) commands.push_back(each->get_name());
  std::vector<std::string> all;
  std::vector<std::string> valued;
  for (const CLI::Option* option : options_of(app, command, false)) {
    for (const std::string& name : names_of(*option)) {
      all.push_back(name);
      if (takes_value(*option)) valued.push_back(name);
    }
  }
  std::vector<std::string> positional;
  for (const CLI::Option* option : options_of(app, command, true)) {
    if (names_a_file(*option)) positional.emplace_back("FILES");
    if (names_a_device(*option)) positional.emplace_back("DEVICES");
    if (names_a_host(*option)) positional.emplace_back("HOSTS");
  }
  return fmt::format(
      "    '{}')\n      commands='{}'\n      options='{}'\n      valued='{}'\n"
      "      positional='{}'\n      ;;\n",
      words, with_blanks(commands), with_blanks(all), with_blanks(valued), with_blanks(positional));
}

std::string bash_script(const CLI::App& app) {
  std::string table;
  std::string choices;
  walk(app, "", [&](const CLI::App& command, const std::string& words) {
    table += bash_row(app, command, words);
    for (const CLI::Option* option : options_of(app, command, false)) {
      const std::vector<std::string> known =
          names_a_host(*option)   ? std::vector<std::string>{"HOSTS"}
          : names_a_file(*option) ? std::vector<std::string>{"FILES"}
                                  : choices_of(*option);
      if (known.empty()) continue;
      for (const std::string& name : names_of(*option)) {
        choices += fmt::format("    '{} {}') echo '{}' ;;\n", words, name, with_blanks(known));
      }
    }
  });
  return fmt::format(
      "# Completion of reclaim for bash, made by `reclaim completion bash`.\n"
      "_reclaim_table() {{\n  case $1 in\n{}  esac\n}}\n\n"
      "_reclaim_choices() {{\n  case \"$1 $2\" in\n{}  esac\n}}\n{}",
      table, choices, kBash);
}

// Within single quotes, as part of a specification of _arguments or _describe.
std::string zsh_text(std::string_view text, std::string_view escaped) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (escaped.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return fmt::format("({})", with_blanks(choices));
  if (names_a_device(option)) return "_reclaim_devices";
  if (names_a_host(option)) return "_reclaim_hosts";
  return names_a_file(option) ? "_files" : " ";
}

std::string zsh_arguments(const CLI::App& app, const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : options_of(app, command, false)) {
    const bool valued = takes_value(*option);
    for (const std::string& name : names_of(*option)) {
      // The value's place: behind a '=', or in the same word.
      const std::string_view joint = name.starts_with("--") ? "=" : "+";
      out += fmt::format(" \\\n    '*{}{}[{}]{}'", name, valued ? joint : "",
                         zsh_text(option->get_description(), "[]:\\"),
                         valued ? ":value:" + zsh_value(*option) : "");
    }
  }
  for (const CLI::Option* option : options_of(app, command, true)) {
    out += fmt::format(" \\\n    '{}:{}:{}'", option->get_items_expected_max() > 1 ? "*" : "",
                       zsh_text(option->get_name(), ":\\"), zsh_value(*option));
  }
  return out;
}

std::string zsh_function(std::string words) {
  for (char& c : words) {
    if (c == ' ') c = '_';
  }
  return "_reclaim" + (words.empty() ? "" : "_" + words);
}

std::string zsh_script(const CLI::App& app) {
  std::string out = "#compdef reclaim\n# Made by `reclaim completion zsh`.\n";
  out +=
      "\n_reclaim_devices() {\n  compadd -- $(reclaim device list -f value -c Address -c Serial "
      "2>/dev/null) $(command ls /sys/class/nvme 2>/dev/null)\n}\n"
      "\n_reclaim_hosts() {\n  compadd -- $(reclaim host list -f value -c Host 2>/dev/null)\n}\n";
  walk(app, "", [&](const CLI::App& command, const std::string& words) {
    out += fmt::format("\n{}() {{\n", zsh_function(words));
    const std::vector<const CLI::App*> below = commands_of(command);
    if (below.empty()) {
      out += fmt::format("  _arguments -s{}\n}}\n", zsh_arguments(app, command));
      return;
    }
    std::string described;
    std::string cases;
    for (const CLI::App* each : below) {
      const std::string& name = each->get_name();
      described += fmt::format("    '{}:{}'\n", name, zsh_text(each->get_description(), ""));
      cases += fmt::format("    {}) {} ;;\n", name,
                           zsh_function(words + (words.empty() ? "" : " ") + name));
    }
    out += fmt::format(
        "  local curcontext=$curcontext state line\n  local -a commands=(\n{}  )\n"
        "  _arguments -C -s{} \\\n    '1:command:->command' '*::argument:->argument'\n"
        "  case $state in\n  command) _describe command commands ;;\n"
        "  argument)\n    case $line[1] in\n{}    esac ;;\n  esac\n}}\n",
        described, zsh_arguments(app, command), cases);
  });
  return out + "\n_reclaim \"$@\"\n";
}

}  // namespace

void add_completion(CLI::App& app, std::ostream& out) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->group("");
  command->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback(
      [&app, &out, shell] { out << (*shell == "bash" ? bash_script(app) : zsh_script(app)); });
}

}  // namespace reclaim::listener
