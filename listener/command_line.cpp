#include "listener/command_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/complain.h"
#include "cli/fit.h"
#include "config/oslo/options.h"
#include "state/base/spdlog_logger.h"

namespace reclaim::listener {
namespace {

class FittedHelp final : public CLI::Formatter {
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return cli::fit_help(CLI::Formatter::make_help(app, std::move(name), mode), get_column_width(),
                         terminal_width());
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() {
  return std::make_shared<FittedHelp>();
}

void look_at_terminals() {
  for (const auto& [stream, fd] :
       {std::pair{&std::cout, STDOUT_FILENO}, std::pair{&std::cerr, STDERR_FILENO}}) {
    winsize size{};
    const bool known = isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0;
    cli::set_line_width(*stream, known ? size.ws_col : 0);
  }
}

std::size_t terminal_width() {
  return cli::line_width(std::cout);
}

int complain(const Error& error) {
  return cli::complain(std::cerr, error);
}

int with_session(
    const CommandLine& line, const config::LoadRequest& request,
    const std::function<int(cli::Session&, const std::vector<std::string>& files)>& run) {
  auto loaded = config::load_settings(request);
  if (!loaded) return complain(loaded.error());
  NullLogger quiet;
  std::unique_ptr<Logger> loud;
  if (line.debug) {
    auto made = make_spdlog_logger(LogOptions{true, false, ""});
    if (!made) return complain(made.error());
    loud = std::move(made).value();
  }
  cli::Session session(loaded->settings, loud ? *loud : static_cast<Logger&>(quiet));
  return run(session, loaded->files);
}

void refuse_empty(CLI::App* command) {
  for (CLI::Option* option : command->get_options()) {
    if (option->get_expected_max() == 0) continue;  // a flag
    option->check([](const std::string& value) {
      return value.empty()
                 ? std::string("an empty value names nothing: give one, or leave the option out")
                 : std::string();
    });
  }
  for (CLI::App* each : command->get_subcommands(nullptr)) refuse_empty(each);
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const CLI::Validator member = CLI::IsMember(words);
  CLI::Validator choice = member;
  choice.operation([member, words](std::string& value) {
    std::string why = member(value);
    const auto meant = config::did_you_mean(value, words);
    if (!why.empty() && meant) why += "; did you mean '" + *meant + "'?";
    return why;
  });
  return choice;
}

void repeatable(CLI::Option* option) {
  option->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
}

void add_labels(CLI::App* command, std::vector<std::string>& labels) {
  repeatable(command->add_option("--label", labels,
                                 "Every host with this label ([reclaim] labels); may be repeated: "
                                 "hosts that have each"));
}

void add_format(CLI::App* command, CommandLine& line, const std::vector<std::string>& formats) {
  command->add_option("-f,--format", line.format, "How to print")
      ->check(one_of(formats))
      ->default_str("table");
  repeatable(
      command->add_option("-c,--column", line.columns, "Print this column only; may be repeated"));
}

void add_list_format(CLI::App* command, CommandLine& line) {
  add_format(command, line);
  repeatable(
      command->add_option("--sort-column", line.sort,
                          "Sort by this column; may be repeated, the first one counts most"));
  command->add_flag("--sort-descending", line.descending, "The largest first");
}

cli::View view_of(const CommandLine& line) {
  // https://no-color.org: set and not empty.
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  const bool color = terminal_width() > 0 && !dumb && (no_color == nullptr || *no_color == '\0');
  return cli::View{*cli::parse_format(line.format.empty() ? "table" : line.format),
                   line.columns,
                   terminal_width(),
                   color,
                   line.sort,
                   line.descending};
}

}  // namespace reclaim::listener
