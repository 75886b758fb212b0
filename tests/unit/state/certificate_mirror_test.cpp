// The mirror of the certificates: what is owed, copied and sent, and what failures cost.
#include "state/certificate/mirror.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/unit/state/proof_fixture.h"

namespace reclaim {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::seconds kDeadline{300};

class Lines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> fields) override {
    const std::lock_guard lock(mutex_);
    std::string line(text);
    for (const LogField& field : fields) line += "; " + std::string(field.value);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Takes what it is told to, and remembers what it was given.
class FakeCommand final : public MirrorCommand {
 public:
  Status run(const std::string& path) override {
    std::unique_lock lock(mutex_);
    paths_.push_back(path);
    if (hangs) changed_.wait(lock, [this] { return stopped_; });
    if (stopped_) return Error{Errc::cancelled, "stopped"};
    if (fails) return Error{Errc::failed, "exit status 1"};
    return Ok{};
  }
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const std::string& path : paths_) names.push_back(fs::path(path).filename());
    return names;
  }
  std::atomic<bool> fails = false;
  std::atomic<bool> hangs = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> paths_;
  bool stopped_ = false;
};

class MirrorTest : public proof::ProofTest {
 protected:
  MirrorTest() {
    mirror_ = state_path_ + "/mirror";
    copy_ = mirror_ + "/compute-1";
    fs::create_directory(mirror_);
    places_ = {state_path_, "compute-1", mirror_, false};
  }
  Status all(MirrorCommand* command = nullptr) {
    return mirror_all(places_, command, [] { return false; });
  }
  MirrorOptions options(std::shared_ptr<MirrorCommand> command = nullptr) {
    return {places_, std::move(command), 1, 10};
  }
  std::string name_of(int number) const { return fs::path(path_of(number)).filename(); }
  static void wait_for(const std::function<bool()>& condition, const char* what) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string mirror_;
  std::string copy_;
  MirrorPlaces places_;
  Lines log_;
};

TEST_F(MirrorTest, TheCopyIsAChainThatVerifies) {
  EXPECT_TRUE(all().ok()) << "nothing is sealed yet";
  keep(3);
  ASSERT_TRUE(all().ok());
  const auto report = check_chain(copy_, keys());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count, 3U);
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(content(copy_ + "/" + name_of(2)), content(path_of(2)));
}

TEST_F(MirrorTest, WhatIsThereIsNotWrittenAgain) {
  keep(2);
  ASSERT_TRUE(all().ok());
  write(path_of(1), "changed on the host by its root");
  fs::remove(copy_ + "/" + name_of(2));
  EXPECT_THAT(mirror_owed(places_)->to_folder, ElementsAre(name_of(2)));
  ASSERT_TRUE(all().ok());
  EXPECT_THAT(content(copy_ + "/" + name_of(1)), HasSubstr("\"sealed\""));
  EXPECT_THAT(mirror_owed(places_)->to_folder, IsEmpty());
}

// An older copy of the chain was put back, and goes on with entries of its own.
TEST_F(MirrorTest, TwoHistoriesAreNotMixed) {
  keep(3);
  ASSERT_TRUE(all().ok());
  const fs::path newest = path_of(3);
  fs::rename(newest,
             newest.parent_path().string() + "/000000003-" + std::string(36, 'f') + ".json");
  const Status copied = all();
  ASSERT_FALSE(copied.ok());
  EXPECT_THAT(copied.error().what, AllOf(HasSubstr(copy_ + " has " + newest.filename().string()),
                                         HasSubstr("put the mirror's in their place")));
  EXPECT_EQ(mirror_owed(places_).error().code, Errc::conflict);
  EXPECT_THAT(check_chain(copy_, keys())->problems, IsEmpty());
}

TEST_F(MirrorTest, TheCommandGetsEachInItsOrderUntilItTakesIt) {
  keep(3);
  places_.has_command = true;
  FakeCommand command;
  command.fails = true;
  EXPECT_THAT(all(&command).error().what, AllOf(HasSubstr(name_of(1)), HasSubstr("exit status")));
  command.fails = false;
  ASSERT_TRUE(all(&command).ok());
  EXPECT_THAT(command.names(), ElementsAre(name_of(1), name_of(1), name_of(2), name_of(3)));
  FakeCommand later;
  keep(4);
  ASSERT_TRUE(all(&later).ok());
  EXPECT_THAT(later.names(), ElementsAre(name_of(4)));
  // A chain that began again has none of those that were taken.
  fs::rename(folder_, folder_ + ".old");
  fs::rename(copy_, copy_ + ".old");
  keep(1);
  EXPECT_THAT(mirror_owed(places_)->to_command, ElementsAre(name_of(1)));
}

TEST_F(MirrorTest, AFolderThatFailsDoesNotKeepTheCommandFromGettingIt) {
  keep(1);
  fs::remove(mirror_);
  places_.has_command = true;
  FakeCommand command;
  EXPECT_THAT(all(&command).error().what, HasSubstr(copy_));
  EXPECT_THAT(command.names(), SizeIs(1));
}

TEST_F(MirrorTest, WhatOthersPutIntoTheSharedFolderIsNotFollowed) {
  keep(1);
  const std::string victim = state_path_ + "/victim";
  write(victim, "precious");
  fs::create_directory(copy_);
  fs::create_symlink(victim, copy_ + "/." + name_of(1) + ".tmp");
  ASSERT_TRUE(all().ok());
  EXPECT_EQ(content(victim), "precious");
  EXPECT_EQ(content(copy_ + "/" + name_of(1)), content(path_of(1)));
  fs::remove_all(copy_);
  fs::create_directory(state_path_ + "/elsewhere");
  fs::create_symlink(state_path_ + "/elsewhere", copy_);
  EXPECT_THAT(all().error().what, HasSubstr(copy_ + " is not a folder: move it away"));
  EXPECT_TRUE(fs::is_empty(state_path_ + "/elsewhere"));
}

TEST_F(MirrorTest, WhatOnlyHasACopysNameIsNoCopy) {
  keep(6);
  ASSERT_TRUE(all().ok());
  for (int number = 1; number < 6; ++number) fs::remove(copy_ + "/" + name_of(number));
  fs::create_symlink(copy_ + "/none", copy_ + "/" + name_of(1));
  ASSERT_EQ(::mkfifo((copy_ + "/" + name_of(2)).c_str(), 0600), 0);
  write(copy_ + "/" + name_of(3), "");
  write(copy_ + "/" + name_of(4), "x");
  fs::resize_file(copy_ + "/" + name_of(4), kSealedBytesMax + 1);
  fs::create_directory(copy_ + "/" + name_of(5));
  EXPECT_THAT(mirror_owed(places_)->to_folder,
              ElementsAre(name_of(1), name_of(2), name_of(3), name_of(4), name_of(5)));
  EXPECT_THAT(all().error().what, HasSubstr(name_of(5)));
  fs::remove(copy_ + "/" + name_of(5));
  ASSERT_TRUE(all().ok());
  EXPECT_THAT(mirror_owed(places_)->to_folder, IsEmpty());
  EXPECT_THAT(check_chain(copy_, keys())->problems, IsEmpty());
}

TEST_F(MirrorTest, AHostThatIsNoFoldersNameIsRefused) {
  keep(1);
  for (const char* host : {"../evil", "..", ".hidden", "a/b"}) {
    places_.host = host;
    EXPECT_THAT(all().error().what, HasSubstr("cannot be the name of a folder")) << host;
    EXPECT_FALSE(mirror_owed(places_).ok());
  }
}

TEST_F(MirrorTest, FailuresAreToldOnceAndMadeUpFor) {
  keep(1);
  fs::remove(mirror_);
  CertificateMirror mirror(options(), log_);
  wait_for([&] { return log_.lines().size() == 1; }, "the warning");
  keep(2);
  mirror.wake();
  EXPECT_THAT(log_.lines(), ElementsAre(AllOf(HasSubstr("not mirrored"), HasSubstr(copy_))));
  fs::create_directory(mirror_);
  wait_for([&] { return fs::exists(copy_ + "/" + name_of(2)); }, "the copies");
  wait_for([&] { return log_.lines().size() == 2; }, "the word that it is well again");
  EXPECT_THAT(log_.lines().back(), HasSubstr("has every entry of the chain again"));
  keep(3);
  mirror.wake();
  wait_for([&] { return fs::exists(copy_ + "/" + name_of(3)); }, "what was sealed then");
  EXPECT_THAT(log_.lines(), SizeIs(2));
}

TEST_F(MirrorTest, ItEndsThoughTheCommandHangs) {
  keep(1);
  places_.has_command = true;
  const auto command = std::make_shared<FakeCommand>();
  command->hangs = true;
  {
    const CertificateMirror mirror(options(command), log_);
    wait_for([&] { return command->names().size() == 1; }, "the command");
  }
  EXPECT_THAT(log_.lines(), IsEmpty()) << "a stop is no failure";
  EXPECT_THAT(mirror_owed(places_)->to_command, ElementsAre(name_of(1)));
}

}  // namespace
}  // namespace reclaim
