// A real Keystone and Placement for a test binary: starts tests/integration/stack/openstack.py in a
// temporary folder, stops it at the end. Thread: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "placement/options.h"
#include "state/base/result.h"
#include "tests/temp_folder.h"

namespace reclaim::testing {

class OpenStackStack final {
 public:
  // `arguments` are those of `openstack.py start` (--tls, --without-traits, ...). Takes a few
  // seconds; the services also end when this process does.
  [[nodiscard]] static Result<std::unique_ptr<OpenStackStack>> start(
      std::vector<std::string> arguments);
  ~OpenStackStack();
  OpenStackStack(const OpenStackStack&) = delete;
  OpenStackStack& operator=(const OpenStackStack&) = delete;

  // Runs `openstack.py COMMAND DIR ARGUMENTS...`; its standard output.
  [[nodiscard]] Result<std::string> run(const std::string& command,
                                        const std::vector<std::string>& arguments) const;

  // A string of endpoints.json; "tls.ca" looks inside.
  [[nodiscard]] std::string endpoint(const std::string& name) const;

  // Options of the service user "reclaim", with password.
  [[nodiscard]] placement::Options options() const;

  struct Device {
    std::string provider_uuid;
    std::string provider_name;
    std::string root_uuid;
    std::string resource_class;
  };
  // `openstack.py register`: `arguments` after --host and --device.
  [[nodiscard]] Result<Device> register_device(const std::string& host, const std::string& address,
                                               std::vector<std::string> arguments) const;

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  OpenStackStack() = default;
  const TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::string endpoints_;  // the text of endpoints.json
};

}  // namespace reclaim::testing
