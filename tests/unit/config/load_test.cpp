// Files and directories: which are read, in which order, and what is said of those that cannot be.
#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/temp_folder.h"

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Load : public ::testing::Test {
 protected:
  Load() {
    request_.default_file = root_ + "/reclaim.conf";
    request_.default_dir = root_ + "/reclaim.conf.d";
    request_.purpose = Purpose::tool;
  }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0640) {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::vector<std::string> problems() {
    std::vector<std::string> out;
    for (const Problem& problem : check_settings(request_).checked.problems) {
      out.push_back(to_string(problem));
    }
    return out;
  }

  std::vector<std::string> warnings() {
    std::vector<std::string> out;
    for (const Problem& problem : check_settings(request_).checked.warnings) {
      out.push_back(to_string(problem));
    }
    return out;
  }

  const TempFolder folder_;
  const std::string root_ = folder_.path();
  LoadRequest request_;
};

TEST_F(Load, DefaultFileThenItsDirectoryInOrder) {
  write("reclaim.conf", "[DEFAULT]\nhost = a\nstate_path = /a\nlog_file = /a\n");
  write("reclaim.conf.d/20.conf", "[DEFAULT]\nhost = c\n");
  write("reclaim.conf.d/10.conf", "[DEFAULT]\nhost = b\nstate_path = /b\n");
  write("reclaim.conf.d/30.txt", "[DEFAULT]\nhost = never\n");
  const auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->settings.host, "c");
  EXPECT_EQ(loaded->settings.state_path, "/b");
  EXPECT_EQ(loaded->settings.log_file, "/a");
  EXPECT_THAT(loaded->files, ElementsAre(root_ + "/reclaim.conf", root_ + "/reclaim.conf.d/10.conf",
                                         root_ + "/reclaim.conf.d/20.conf"));
}

// An upgrade is told before the worker is restarted with it.
TEST_F(Load, AWorkersKeyOfOrdersIsItsOwn) {
  request_.purpose = Purpose::serve;
  const std::string key = root_ + "/order.key";
  write("reclaim.conf", "[DEFAULT]\nhost = a\n[security]\norder_key_file = " + key + "\n");
  const std::string master(64, 'a');
  write("order.key", master + "\n", 0600);
  const auto told = Contains(AllOf(HasSubstr("[security] order_key_file: " + key),
                                   HasSubstr("`reclaim security order-key --host a`")));
  EXPECT_THAT(problems(), told);
  write("order.key", "b " + master + "\n", 0600);
  EXPECT_THAT(problems(), told);
  write("order.key", "a nonsense\n", 0600);
  EXPECT_THAT(problems(), Contains(HasSubstr("holds no key of orders")));
  write("order.key", "a " + master + "\n", 0600);
  EXPECT_THAT(problems(), Not(Contains(HasSubstr("order_key_file"))));
  // Operators' machines and nodes of the API hold the master.
  write("order.key", master + "\n", 0600);
  request_.purpose = Purpose::tool;
  EXPECT_THAT(problems(), IsEmpty());
}

// The log and a command tell an error in one line, where a line break would show as \x0a.
TEST_F(Load, SeveralProblemsAreInOneLine) {
  const std::string file = write("reclaim.conf", "[nvme]\nfirst = 1\nsecond = 2\n");
  EXPECT_EQ(load_settings(request_).error().what,
            file + ":2: unknown option 'first' in group [nvme]; " + file +
                ":3: unknown option 'second' in group [nvme]");
}

TEST_F(Load, NoFileAtAllIsAWarning) {
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(warnings(), Contains(HasSubstr("no configuration file found (" + root_)));
}

TEST_F(Load, NamedFilesReplaceTheDefaults) {
  write("reclaim.conf", "[DEFAULT]\nhost = default\nstate_path = /default\n");
  request_.config_files = {write("a.conf", "[DEFAULT]\nhost = a\n"),
                           write("b.conf", "[DEFAULT]\nhost = b\n")};
  write("d/x.conf", "[DEFAULT]\nlog_file = /d\n");
  request_.config_dirs = {root_ + "/d"};
  const auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->settings.host, "b");
  EXPECT_EQ(loaded->settings.log_file, "/d");
  EXPECT_EQ(loaded->settings.state_path, "/var/lib/reclaim");
}

TEST_F(Load, ServiceConfigIsWeakerThanTheDefaults) {
  request_.service_configs = {
      write("nova.conf", "[DEFAULT]\nhost = nova\n[placement]\nregion_name = R\n")};
  write("reclaim.conf", "[DEFAULT]\nhost = mine\n");
  const auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->settings.host, "mine");
  EXPECT_EQ(loaded->settings.placement.region_name, "R");
}

TEST_F(Load, OwnFilesNameServicesFilesThatAreWeakerThanAnyThatIsGiven) {
  const std::string nova =
      write("nova.conf", "[DEFAULT]\nhost = nova\n[placement]\nregion_name = N\n");
  const std::string cyborg = write("cyborg.conf", "[placement]\nregion_name = C\n");
  write("reclaim.conf", "[DEFAULT]\nservice_config = " + nova + "\n");
  auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->settings.host, "nova");
  EXPECT_THAT(loaded->files, ElementsAre(nova, root_ + "/reclaim.conf"));
  write("reclaim.conf",
        "[DEFAULT]\nservice_config = " + nova + "\nservice_config = " + cyborg + "\nhost = mine\n");
  request_.service_configs = {nova};
  loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->settings.host, "mine");
  EXPECT_EQ(loaded->settings.placement.region_name, "C");
  EXPECT_THAT(loaded->files, ElementsAre(nova, cyborg, root_ + "/reclaim.conf"));
  write("reclaim.conf", "[DEFAULT]\nservice_config = /none/nova.conf\n");
  EXPECT_THAT(problems(), Contains(root_ + "/reclaim.conf:2: [DEFAULT] service_config: "
                                           "/none/nova.conf cannot be read: No such file or "
                                           "directory"));
}

TEST_F(Load, ACommentBehindAValueIsNamedAsTheFault) {
  write("reclaim.conf",
        "[recovery]\ninterrupted_cleaning = resume ; yes\n[nvme]\nmax_parallel = 2 # two\n");
  EXPECT_THAT(problems(),
              AllOf(Contains(HasSubstr("'; yes' is read as part of the value")),
                    Contains(HasSubstr("is not an integer from 1 to 64 (a comment needs a line of "
                                       "its own: '# two' is read as part of the value)"))));
}

TEST_F(Load, ANamedFileThatCannotBeReadIsAnError) {
  request_.config_files = {root_ + "/none.conf", root_};
  request_.config_dirs = {root_ + "/none.d"};
  request_.service_configs = {"/dev/null"};
  EXPECT_THAT(problems(),
              ElementsAre(root_ + "/none.conf: cannot be read: No such file or directory",
                          root_ + ": cannot be read: Is a directory",
                          root_ + "/none.d: cannot be read: No such file or directory",
                          "/dev/null: cannot be read: neither a file nor a pipe"));
  const auto loaded = load_settings(request_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::invalid);
  EXPECT_THAT(loaded.error().what, HasSubstr("none.conf"));
}

TEST_F(Load, FilesAreBounded) {
  request_.config_files = {write("big.conf", "[DEFAULT]\n" + std::string(2 * 1024 * 1024, '#'))};
  EXPECT_THAT(problems(), ElementsAre(root_ + "/big.conf: the file is larger than 1048576 bytes"));
  request_.config_files.assign(kConfigFilesMax + 1, write("small.conf", ""));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("more than 256 files")));
}

TEST_F(Load, WarnsOfSecretsEverybodyCanRead) {
  const std::string secret = "[placement]\npassword = x\n";
  write("reclaim.conf", secret, 0644);
  EXPECT_THAT(warnings(),
              Contains(root_ + "/reclaim.conf:2: everybody on this host can read the file, and "
                               "it holds a secret: chmod 640 it"));
  write("reclaim.conf", secret, 0640);
  EXPECT_THAT(warnings(), ::testing::Not(Contains(HasSubstr("everybody"))));
  write("reclaim.conf", "[DEFAULT]\ntransport_url = rabbit://h/\n", 0644);
  EXPECT_THAT(warnings(), ::testing::Not(Contains(HasSubstr("everybody"))));
  write("reclaim.conf", "[DEFAULT]\ntransport_url = rabbit://u:p@h/\n", 0644);
  EXPECT_THAT(warnings(), Contains(HasSubstr("everybody")));
}

// -------------------------------------------------------------------------------------------------
// The policy file.

TEST_F(Load, ThePolicyFileIsReadFromWhereItIsNamed) {
  const std::string policy = write("p.yaml", "\"cyborg:device:clean\": \"role:cleaner\"\n");
  const std::string own = write("reclaim.conf", "[oslo_policy]\npolicy_file = " + policy + "\n");
  const auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_THAT(loaded->settings.policy_rules,
              ElementsAre(::testing::Pair("cyborg:device:clean", "role:cleaner")));
  EXPECT_THAT(loaded->files, ElementsAre(own, policy));
}

TEST_F(Load, AWorkerStartsWithAPolicyThatIsWrong) {
  write("p.yaml", "first: [a]\n");
  const std::string text = "[oslo_policy]\npolicy_file = " + root_ +
                           "/p.yaml\n[api]\nauth = none\nunix_socket = /s\n" +
                           "[placement]\nauth_type = v3applicationcredential\n" +
                           "auth_url = http://k\napplication_credential_id = i\n" +
                           "application_credential_secret = s\n[api]\n";
  write("reclaim.conf", text);
  request_.purpose = Purpose::serve;
  EXPECT_THAT(problems(), IsEmpty());
  const std::string file = write(
      "api.conf", "[api]\nauth = none\nunix_socket = /s\n" + text.substr(0, text.find("[api]")));
  LoadRequest api = of_api(request_);
  EXPECT_EQ(api.default_file, "/etc/reclaim/api.conf");
  api.default_file = file;
  EXPECT_THAT(to_text(check_settings(api).checked.problems), HasSubstr("rule 'first'"));
}

TEST_F(Load, ThePolicyFileAloneIsReadAnew) {
  const std::string policy = write("p.yaml", "\"cyborg:device:clean\": \"role:cleaner\"\n");
  write("reclaim.conf", "[oslo_policy]\npolicy_file = " + policy + "\n");
  const auto loaded = load_settings(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  write("p.yaml", "\"cyborg:device:clean\": \"@\"\n");
  const auto anew = load_policy(loaded->settings);
  ASSERT_TRUE(anew.ok()) << anew.error().what;
  EXPECT_THAT(anew->rules, ElementsAre(::testing::Pair("cyborg:device:clean", "@")));
  EXPECT_EQ(anew->warnings.size(), 1U);
  write("p.yaml", "\"cyborg:device:clean\": \"role:\n");
  EXPECT_THAT(load_policy(loaded->settings).error().what, HasSubstr(policy + ":2: no YAML"));
  std::filesystem::remove(policy);
  EXPECT_THAT(load_policy(loaded->settings).error().what, HasSubstr("cannot be read"));
}

TEST_F(Load, APolicyFileThatIsNamedMustBeThere) {
  const std::string own =
      write("reclaim.conf", "[oslo_policy]\npolicy_file = " + root_ + "/no.yaml\n");
  EXPECT_THAT(problems(), ElementsAre(own + ":2: [oslo_policy] policy_file: " + root_ +
                                      "/no.yaml cannot be read: No such file or directory"));
}

TEST_F(Load, WhatIsWrongInAPolicyFileNamesItsLine) {
  const std::string policy = write("p.yaml", "# ours\nfirst: [a]\n");
  write("reclaim.conf", "[oslo_policy]\npolicy_file = " + policy + "\n");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr(policy + ":2: rule 'first': its text must be a")));
  write("p.yaml", "\"cyborg:device:get_all\": \"@\"\n\"cyborg:device:clean\": \"role:admin or\"\n");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr(policy + ":2: policy rule 'cyborg:device:clean': ")));
  write("p.yaml", "\"cyborg:device:clena\": \"!\"\n");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr(policy + ":1: policy rule 'cyborg:device:clena': nothing")));
}

TEST_F(Load, APolicyThatLetsEverybodyCleanIsWarnedOf) {
  const std::string policy = write("p.yaml", "");
  write("reclaim.conf", "[oslo_policy]\npolicy_file = " + policy + "\n");
  for (const char* rule : {"", "@", "rule:allow", "not role:tenant"}) {
    write("p.yaml", std::string("# ours\n\"cyborg:device:clean\": \"") + rule + "\"\n");
    EXPECT_THAT(warnings(), Contains(HasSubstr(policy + ":2: policy rule 'cyborg:device:clean': "
                                                        "every user with a token may")))
        << rule;
  }
  write("p.yaml", "\"cyborg:device:clean\": \"role:cleaner\"\n\"cyborg:device:get_all\": \"@\"\n");
  EXPECT_THAT(warnings(), ::testing::Not(Contains(HasSubstr("every user with a token"))));
}

TEST_F(Load, APolicyFileThatOthersMayWriteIsWarnedOf) {
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    const std::string policy = write("p.yaml", "\"cyborg:device:clean\": \"role:x\"\n", mode);
    write("reclaim.conf", "[oslo_policy]\npolicy_file = " + policy + "\n");
    EXPECT_THAT(warnings(), Contains(HasSubstr(policy + ": others than its owner may write")));
  }
  write("p.yaml", "\"cyborg:device:clean\": \"role:x\"\n", 0644);
  EXPECT_THAT(warnings(), ::testing::Not(Contains(HasSubstr("others than its owner"))));
}

}  // namespace
}  // namespace reclaim::config
