#include "tests/integration/cyborg_stand_in.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "state/base/json.h"
#include "tests/integration/run_program.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

constexpr std::size_t kJsonBytesMax = 1 << 16;

std::vector<std::string> command_line(const std::string& command, const std::string& directory,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> words{
      "/usr/bin/python3", source_path("tests/integration/stack/cyborg.py"), command, directory};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string member_of(const std::string& text, const std::string& member) {
  const auto document = json::parse(text, kJsonBytesMax);
  return document.ok() ? json::maybe_string(*document, member).value_or("") : "";
}

}  // namespace

Result<std::unique_ptr<CyborgStandIn>> CyborgStandIn::start(std::vector<std::string> arguments) {
  std::unique_ptr<CyborgStandIn> made(new CyborgStandIn);
  arguments.insert(arguments.end(), {"--owner-pid", std::to_string(getpid())});
  auto started = run_program(command_line("start", made->directory_, arguments));
  if (!started.ok()) return std::move(started).error();
  made->endpoint_ = member_of(*started, "endpoint");
  return made;
}

CyborgStandIn::~CyborgStandIn() {
  (void)run_program(command_line("stop", directory_, {}));
}

std::string CyborgStandIn::run(const std::string& command,
                               const std::vector<std::string>& words) const {
  std::vector<std::string> arguments{command};
  arguments.insert(arguments.end(), words.begin(), words.end());
  auto said = run_program(command_line("do", directory_, arguments));
  EXPECT_TRUE(said.ok()) << said.error().what;
  return said.ok() ? *std::move(said) : std::string();
}

std::string CyborgStandIn::made(const std::string& command, const std::vector<std::string>& words,
                                const std::string& member) const {
  return member_of(run(command, words), member);
}

}  // namespace reclaim::testing
