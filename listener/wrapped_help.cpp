#include "listener/wrapped_help.h"

#include <sstream>
#include <utility>
#include <vector>

#include "cli/fit.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kNamesIndent = 4;

// `indent`: of the lines behind the first one.
std::string broken(const std::string& line, std::size_t from, std::size_t indent,
                   std::size_t width) {
  std::string out = line.substr(0, from);
  std::string lead;
  for (const std::string& part : cli::wrap(line.substr(from), width - indent)) {
    out += lead + part + '\n';
    lead.assign(indent, ' ');
  }
  return out;
}

}  // namespace

std::string WrappedHelp::make_help(const CLI::App* app, std::string name,
                                   CLI::AppFormatMode mode) const {
  const std::string whole = CLI::Formatter::make_help(app, std::move(name), mode);
  const std::size_t column = get_column_width();
  if (width_ < column + cli::kColumnMin) return whole;
  std::string out;
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line);) {
    const bool of_two = line.starts_with(' ') && line.size() > column && line[column - 1] == ' ';
    const std::size_t indent = of_two ? column : line.starts_with(' ') ? kNamesIndent : 0;
    out += line.size() <= width_ ? line + '\n' : broken(line, of_two ? column : 0, indent, width_);
  }
  return out;
}

}  // namespace reclaim::listener
