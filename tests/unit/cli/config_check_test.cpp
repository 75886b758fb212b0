// reclaim config check: what would keep a process from starting.
#include <gmock/gmock.h>
#include <unistd.h>

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

TEST(ConfigCheck, TheFileOfPsidsIsReadAsAStepReadsIt) {
  const TempFolder folder;
  const std::string psids = folder / "psids";
  const std::string file = folder / "reclaim.conf";
  std::ofstream(file) << "[DEFAULT]\ntransport_url = fake://\n[redis]\nurl = redis://127.0.0.1\n"
                         "[nvme]\npsid_file = "
                      << psids << '\n';
  config::LoadRequest request;
  request.config_files = {file};
  const auto errors = [&] {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_config_check(request, out, err), 1);
    return err.str();
  };
  EXPECT_THAT(errors(), HasSubstr("error: [nvme] psid_file: PSID file " + psids));
  if (::geteuid() != 0) GTEST_SKIP() << "the file has to be root's";
  std::ofstream(psids) << "S1 ABCDEFGHIJKLMNOPQRSTUVWXYZ012345\nS2 ABC\n";
  std::filesystem::permissions(psids, std::filesystem::perms::owner_read);
  EXPECT_THAT(errors(), HasSubstr("error: [nvme] psid_file: " + psids + ":2: its last word"));
  std::ofstream(psids) << "S1 ABCDEFGHIJKLMNOPQRSTUVWXYZ012345\n";
  EXPECT_THAT(errors(), ::testing::Not(HasSubstr("psid_file")));
}

}  // namespace
}  // namespace reclaim::cli
