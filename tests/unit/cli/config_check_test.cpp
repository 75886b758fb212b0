// reclaim config check: what would keep a process from starting.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "tests/temp_folder.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

TEST(ConfigCheck, TheApisKeyOfOrdersIsReadAsTheApiReadsIt) {
  const TempFolder folder;
  const std::string key = folder / "order.key";
  const std::string file = folder / "api.conf";
  std::ofstream(file) << "[api]\nunix_socket = /tmp/api.sock\n[redis]\nurl = redis://127.0.0.1\n"
                         "[keystone_authtoken]\nauth_url = http://127.0.0.1:5000\nauth_type = "
                         "password\nusername = u\npassword = p\nproject_name = service\n"
                         "user_domain_name = Default\nproject_domain_name = Default\n"
                         "[security]\norder_key_file = "
                      << key << '\n';
  config::LoadRequest request = config::of_api({});
  request.config_files = {file};
  std::ostringstream err;
  const auto check = [&] {
    std::ostringstream out;
    err.str("");
    return run_config_check(request, out, err);
  };
  EXPECT_EQ(check(), 1);
  EXPECT_THAT(err.str(), HasSubstr("error: [security] order_key_file: cannot open " + key));
  const auto check_with = [&](const std::string& text) {
    std::filesystem::remove(key);
    std::ofstream(key) << text << '\n';
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    return check();
  };
  for (const std::string& text : {std::string(), std::string(64, '0'), std::string(63, 'a')}) {
    EXPECT_EQ(check_with(text), 1) << text;
    EXPECT_THAT(err.str(), HasSubstr("holds no key of orders")) << text;
  }
  EXPECT_EQ(check_with(std::string(64, 'a')), 0) << err.str();
  EXPECT_EQ(check_with("a " + std::string(64, 'a')), 0) << err.str();
}

}  // namespace
}  // namespace reclaim::cli
