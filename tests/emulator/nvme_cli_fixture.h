// nvme-cli as an independent witness: an unmodified program with the preload library in front of
// it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "state/base/json.h"
#include "tests/emulator/host/digest.h"
#include "tests/emulator/host/host.h"
#include "tests/temp_folder.h"

namespace reclaim::emulator {

class NvmeCliTest : public ::testing::Test {
 protected:
  static constexpr const char* kAddress = "0000:01:00.0";

  void SetUp() override {
    if (std::system("command -v nvme >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "nvme-cli is not installed (package nvme-cli), so there is no witness";
    }
    auto made = Host::create(
        root_, {"address=0000:01:00.0,serial=WITNESS,model=Model X,size=8M,duration_ms=600000,"
                "estimate_crypto_s=2,sanicap=crypto+block,percent_used=33,media_errors=5",
                "address=0000:02:00.0,serial=OTHER,size=4M,disk=7"});
    ASSERT_TRUE(made.ok()) << made.error().what;
    host_ = std::move(*made);
    ASSERT_TRUE(host_->fill(kAddress, 7).ok());
  }

  struct Answer {
    int code = -1;
    std::string text;
  };

  // Nodes are named by their full path: should the preload library not load, nvme-cli finds plain
  // files there and no drive of this machine.
  Answer nvme(const std::string& command, const std::string& arguments = "") {
    const std::string node = (root_ / "dev").string() + "/";
    std::string line = "env RECLAIM_EMULATOR_ROOT=" + root_.string() +
                       " LD_PRELOAD=" RECLAIM_EMULATOR_PRELOAD " nvme " + command;
    if (!arguments.empty()) line += " " + node + arguments;
    FILE* pipe = ::popen((line + " 2>&1").c_str(), "r");
    Answer answer;
    std::array<char, 4096> chunk{};
    while (std::fgets(chunk.data(), chunk.size(), pipe) != nullptr) answer.text += chunk.data();
    answer.code = WEXITSTATUS(::pclose(pipe));
    return answer;
  }

  rapidjson::Document json_of(const std::string& command, const std::string& arguments = "") {
    const Answer answer = nvme(command, arguments + " -o json");
    EXPECT_EQ(answer.code, 0) << answer.text;
    auto parsed = json::parse(answer.text, 1U << 20U);
    EXPECT_TRUE(parsed.ok()) << answer.text;
    return parsed.ok() ? std::move(*parsed) : rapidjson::Document(rapidjson::kObjectType);
  }

  // nvme-cli of Debian 12 writes 128-bit counters as strings, that of 13 as numbers.
  static std::int64_t counter(const rapidjson::Document& log, std::string_view name) {
    const auto text = json::get_string(log, name);
    return text ? std::stoll(*text) : json::get_int(log, name).value();
  }

  std::string sanitize_status() {
    const auto log = json_of("sanitize-log", "nvme0");
    const auto* drive = json::find(log, "nvme0");
    const auto* status = drive == nullptr ? nullptr : json::find(*drive, "sstat");
    if (status == nullptr) return "?";
    return json::get_string(*status, "status").value() +
           (json::get_int(*status, "global_erased").value() == 1 ? " GDE" : "");
  }

  void set(const std::string& key, const std::string& value) {
    ASSERT_TRUE(host_->set(kAddress, key, value).ok());
  }

  const TempFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
  std::unique_ptr<Host> host_;
};

}  // namespace reclaim::emulator
