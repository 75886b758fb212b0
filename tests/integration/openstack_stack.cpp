#include "tests/integration/openstack_stack.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "state/base/json.h"
#include "tests/integration/run_program.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

constexpr std::size_t kJsonBytesMax = 1 << 16;

std::vector<std::string> command_line(const std::string& command, const std::string& directory,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> words{
      "/usr/bin/python3", source_path("tests/integration/stack/openstack.py"), command, directory};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

Result<std::unique_ptr<OpenStackStack>> OpenStackStack::start(std::vector<std::string> arguments) {
  std::unique_ptr<OpenStackStack> stack(new OpenStackStack);
  arguments.insert(arguments.end(),
                   {"--owner-pid", std::to_string(getpid()), "--template", RECLAIM_STACK_TEMPLATE});
  auto started = stack->run("start", arguments);
  if (!started.ok()) return std::move(started).error();
  std::ifstream file(stack->directory_ + "/endpoints.json");
  stack->endpoints_.assign(std::istreambuf_iterator<char>(file), {});
  return stack;
}

OpenStackStack::~OpenStackStack() {
  (void)run("stop", {});
}

Result<std::string> OpenStackStack::run(const std::string& command,
                                        const std::vector<std::string>& arguments) const {
  return run_program(command_line(command, directory_, arguments));
}

std::string OpenStackStack::endpoint(const std::string& name) const {
  const auto document = json::parse(endpoints_, kJsonBytesMax);
  CHECK(document.ok());
  const rapidjson::Value* at = &*document;
  std::string_view rest = name;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    at = json::find(*at, rest.substr(0, dot));
    CHECK(at != nullptr);
    rest.remove_prefix(dot + 1);
  }
  auto text = json::get_string(*at, rest);
  CHECK(text.ok());
  return *std::move(text);
}

placement::Options OpenStackStack::options() const {
  placement::Options options;
  options.auth_url = endpoint("auth_url");
  options.username = endpoint("service_username");
  options.password = endpoint("service_password");
  options.user_domain_name = endpoint("domain");
  options.project_name = endpoint("service_project");
  options.project_domain_name = endpoint("domain");
  options.region_name = endpoint("region");
  return options;
}

Result<OpenStackStack::Device> OpenStackStack::register_device(
    const std::string& host, const std::string& address, std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--host", host, "--device", address});
  auto said = run("register", arguments);
  if (!said.ok()) return std::move(said).error();
  auto document = json::parse(*said, kJsonBytesMax);
  if (!document.ok()) return std::move(document).error();
  const auto text = [&](std::string_view name) {
    return json::maybe_string(*document, name).value_or("");
  };
  return Device{text("uuid"), text("name"), text("root_uuid"), text("resource_class")};
}

}  // namespace reclaim::testing
