// reclaim certificate list|report of a tenant, over one chain and over a mirror of several hosts.
#include "cli/certificate_selection.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "cli/commands.h"
#include "state/base/json.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kProject = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3";
constexpr const char* kOther = "11112222333344445555666677778888";
constexpr const char* kInstance = "a11a5487-696b-4d4e-a487-6b9ec9d7e458";

WallMs at(const std::string& text) {
  return *from_iso8601(text);
}

Certificate erased(const std::string& project, const std::string& released) {
  Certificate it;
  it.project = project;
  it.instance = kInstance;
  it.released_at = at(released);
  return it;
}

TEST(Selection, ARangeIsWholeDaysOrEndsBeforeATime) {
  CertificateOptions options;
  options.from = "2026-10-01";
  options.to = "2026-10-31";
  const Selection october = *selection_of(options);
  EXPECT_FALSE(october.period.has(at("2026-09-30T23:59:59.999Z")));
  EXPECT_TRUE(october.period.has(at("2026-10-01T00:00:00Z")));
  EXPECT_TRUE(october.period.has(at("2026-10-31T23:59:59.999Z")));
  EXPECT_FALSE(october.period.has(at("2026-11-01T00:00:00Z")));
  options.to = "2026-10-31T06:00:00Z";
  EXPECT_TRUE(selection_of(options)->period.has(at("2026-10-31T05:59:59.999Z")));
  EXPECT_FALSE(selection_of(options)->period.has(at("2026-10-31T06:00:00Z")));
  options.to.clear();
  EXPECT_TRUE(selection_of(options)->period.has(at("2036-10-31T06:00:00Z")));
  EXPECT_FALSE(selection_of(options)->period.has(at("2026-09-30T23:59:59Z")));
  options.from.swap(options.to);
  EXPECT_FALSE(selection_of(options)->period.has(at("2026-10-02T00:00:00Z")));
  EXPECT_TRUE(selection_of(options)->period.has(at("2016-10-01T00:00:00Z")));
  for (const char* bad : {"2026-13-01", "31.10.2026"}) {
    options.to = bad;
    EXPECT_THAT(selection_of(options).error().what, HasSubstr("--to: '"));
    CertificateOptions other;
    other.from = bad;
    EXPECT_THAT(selection_of(other).error().what, HasSubstr("--from: '"));
  }
}

TEST(Selection, FiltersComposeAndIdsAreComparedAsIds) {
  LeftOut left_out;
  const Certificate mine = erased(kProject, "2026-10-05T00:00:00Z");
  Selection asked;
  asked.project = "8D0E5B2C-1a47-4f6d-9b3e-7c5a90f1e2d3";
  EXPECT_TRUE(selects(asked, "c1", mine, left_out));
  asked.instance = "A11A5487696B4D4EA4876B9EC9D7E458";
  EXPECT_TRUE(selects(asked, "c1", mine, left_out));
  asked.host = "c2";
  EXPECT_FALSE(selects(asked, "c1", mine, left_out));
  asked.host = "c1";
  asked.period.from = at("2026-10-05T00:00:00.001Z");
  EXPECT_FALSE(selects(asked, "c1", mine, left_out));
  asked.period.from = mine.released_at;
  EXPECT_TRUE(selects(asked, "c1", mine, left_out));
  EXPECT_FALSE(selects(asked, "c1", erased(kOther, "2026-10-05T00:00:00Z"), left_out));
  asked.instance = kProject;
  EXPECT_FALSE(selects(asked, "c1", mine, left_out));
  EXPECT_THAT(remarks(left_out), IsEmpty());
}

// Reclaim takes the next instance for a migration as long as the former one lives elsewhere.
TEST(Selection, TheLastOfTwoInstancesIsAskedForByEither) {
  LeftOut left_out;
  Certificate both = erased(kProject, "2026-10-05T00:00:00Z");
  both.migration = "b22b5487-696b-4d4e-a487-6b9ec9d7e458";
  Selection asked;
  asked.project = kProject;
  for (const std::string& instance : {both.instance, both.migration}) {
    asked.instance = instance;
    EXPECT_TRUE(selects(asked, "c1", both, left_out)) << instance;
  }
  EXPECT_FALSE(selects(asked, "c1", erased(kProject, "2026-10-05T00:00:00Z"), left_out));
  asked.project = kOther;
  EXPECT_FALSE(selects(asked, "c1", both, left_out));
  EXPECT_THAT(remarks(left_out), IsEmpty());
  both.project.clear();
  EXPECT_FALSE(selects(asked, "c1", both, left_out));
  EXPECT_EQ(left_out.no_project, 1U);
}

TEST(Selection, WhatNamesNoProjectIsCountedAndWhatWasOnlyHeardOfIsNotShown) {
  LeftOut left_out;
  Selection asked;
  asked.project = kProject;
  const Certificate nameless = erased("", "2026-10-05T00:00:00Z");
  EXPECT_FALSE(selects(asked, "c1", nameless, left_out));
  EXPECT_THAT(remarks(left_out), ::testing::ElementsAre(HasSubstr("1 erasure names no project")));
  asked.period.from = at("2026-10-06T00:00:00Z");
  EXPECT_FALSE(selects(asked, "c1", nameless, left_out));
  EXPECT_EQ(left_out.no_project, 1U) << "one of another period";
  asked = {};
  asked.instance = kInstance;
  Certificate unseen = nameless;
  unseen.instance.clear();
  unseen.heard = {"b22b5487-696b-4d4e-a487-6b9ec9d7e458", kInstance};
  EXPECT_FALSE(selects(asked, "c1", unseen, left_out));
  EXPECT_THAT(remarks(left_out), ::testing::Contains(HasSubstr("only heard of: that proves")));
}

TEST(Selection, WhatFindsNothingSaysWhatItLacks) {
  Certificate other = erased(kOther, "2026-10-06T00:00:00Z");
  other.instance = "b22b5487-696b-4d4e-a487-6b9ec9d7e458";
  const auto said = [&](const CertificateOptions& options, bool empty = false) {
    LeftOut left_out;
    for (const Certificate& each : {erased(kProject, "2026-10-05T00:00:00Z"), other}) {
      if (empty) continue;
      EXPECT_FALSE(selects(*selection_of(options), "c1", each, left_out));
    }
    std::ostringstream err;
    say_selected(options, true, left_out, err);
    return err.str();
  };
  CertificateOptions options;
  options.from = "2026-11-01";
  EXPECT_EQ(said(options),
            "no erasure in the period from 2026-11-01: 2 erasures are of another time\n");
  EXPECT_EQ(said(options, true), "there is no certificate here yet\n");
  options.project = kProject;
  options.to = "2026-11-30";
  EXPECT_EQ(
      said(options),
      "no erasure in the period from 2026-11-01 to 2026-11-30: 1 erasure is of another time\n");
  options.project = "web-shop";
  EXPECT_THAT(said(options), AllOf(HasSubstr("is of the project 'web-shop'"),
                                   HasSubstr("openstack project show"), Not(HasSubstr("period"))));
  options = {};
  options.project = "3f1c2b7a9d604e58a1b20c4d5e6f7081";
  options.instance = "c33c5487-696b-4d4e-a487-6b9ec9d7e458";
  EXPECT_EQ(said(options),
            "no erasure here is of the project '3f1c2b7a9d604e58a1b20c4d5e6f7081'\n"
            "no erasure here is of the instance 'c33c5487-696b-4d4e-a487-6b9ec9d7e458'\n")
      << "advice is for names";
  options = {};
  options.instance = "db-1";
  EXPECT_THAT(said(options), HasSubstr("have its UUID, which `openstack server show NAME"));
  options = {};
  options.project = kOther;
  options.instance = kInstance;
  EXPECT_EQ(said(options), "no erasure here has all that was asked for\n");
  options.host = "c9";
  EXPECT_THAT(said(options), AllOf(HasSubstr("is of the host 'c9'"), Not(HasSubstr("project"))));
  options.host.clear();
  options.instance = "c33c5487-696b-4d4e-a487-6b9ec9d7e458";
  EXPECT_THAT(said(options),
              AllOf(HasSubstr("is of the instance 'c33c"), Not(HasSubstr("project"))));
}

// Two hosts, each with its key; the mirror has a folder of each.
class Mirror : public proof::ProofTest {
 protected:
  Mirror() {
    std::filesystem::create_directories(mirror_);
    std::filesystem::create_directories(keys_);
    write(mirror_ + "/README", "not a host");
    std::filesystem::create_directory_symlink("/", mirror_ + "/link");
    add("compute-1", {{kProject, "2026-10-05T10:00:00Z"}, {kOther, "2026-10-06T10:00:00Z"}});
    add("compute-2", {{kProject, "2026-10-07T10:00:00Z"},
                      {"", "2026-10-08T10:00:00Z"},
                      {kProject, "2026-11-01T00:00:00Z"}});
  }

  void add(const std::string& host, const std::vector<std::pair<std::string, std::string>>& has) {
    const SigningKey key = key_named(host);
    const CertificateChain chain{mirror_ + "/" + host, key};
    for (const auto& [project, released] : has) {
      Certificate it = *decode_certificate(certificate_text(++made_));
      it.host = host;
      it.project = project;
      it.instance = kInstance;
      it.verified_at = it.released_at = at(released);
      it.started_at = WallMs{it.released_at.ms - 60'000};
      ASSERT_TRUE(chain.keep(it.id, encode_certificate(it)).ok());
    }
    write(keys_ + "/" + host + ".pub", *key.public_key().pem());
  }

  template <typename Command>
  int run(Command command, const CertificateOptions& asked, Format format = Format::json) {
    config::Settings settings;
    settings.state_path = state_path_;
    settings.mirror_dir = mirror_;
    CertificateOptions options = asked;
    options.all_hosts = true;
    options.view.format = format;
    if (options.from.empty()) {
      options.from = "2026-10-01";
      options.to = "2026-10-31";
    }
    out_.str("");
    err_.str("");
    return command(settings, options, out_, err_);
  }
  [[nodiscard]] CertificateOptions of_project() const {
    CertificateOptions options;
    options.public_keys = {keys_};
    options.project = kProject;
    return options;
  }

  const std::string mirror_ = state_path_ + "/mirror";
  const std::string keys_ = state_path_ + "/keys";
  int made_ = 0;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Mirror, AllErasuresOfATenantInOctober) {
  ASSERT_EQ(run(&run_certificate_list, of_project(), Format::csv), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("compute-1\",1,\"" + id_of(1)),
                                HasSubstr("compute-2\",1,\"" + id_of(3)), Not(HasSubstr(kOther)),
                                Not(HasSubstr(id_of(4))), Not(HasSubstr(id_of(5)))));
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("1 erasure names no project"),
                                HasSubstr("the chains of 2 hosts: compute-1, compute-2;")));
  ASSERT_EQ(run(&run_certificate_report, of_project()), 0) << err_.str();
  const auto shown = json::parse(out_.str(), 100'000);
  ASSERT_TRUE(shown.ok()) << out_.str();
  EXPECT_EQ((*shown)["erasures"].GetInt(), 2);
  EXPECT_EQ((*shown)["names_no_project"].GetInt(), 1);
  EXPECT_STREQ((*shown)["project"].GetString(), kProject);
  EXPECT_STREQ((*shown)["chain"].GetString(), "verified");
  EXPECT_EQ((*shown)["certificates"].Size(), 2U);
  ASSERT_EQ(run(&run_certificate_report, of_project(), Format::csv), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"Host\",\"Sequence\",\"ID\""), HasSubstr(id_of(1)),
                                HasSubstr(id_of(3)), Not(HasSubstr(id_of(2)))));
  CertificateOptions page = of_project();
  page.html = true;
  ASSERT_EQ(run(&run_certificate_report, page), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("Project <code>" + std::string(kProject)), HasSubstr(id_of(3)),
                    HasSubstr("1 erasure names no project"), HasSubstr("host compute-2: entries")));
}

TEST_F(Mirror, AHostAlone) {
  CertificateOptions options = of_project();
  options.host = "compute-2";
  ASSERT_EQ(run(&run_certificate_list, options), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(id_of(3)), Not(HasSubstr("compute-1"))));
  options.host = "compute-9";
  EXPECT_EQ(run(&run_certificate_list, options), 1);
  EXPECT_THAT(err_.str(), HasSubstr("has no folder of the host compute-9"));
}

TEST_F(Mirror, AProjectsNameIsNotTakenForOneWithoutErasures) {
  CertificateOptions options = of_project();
  options.project = "web-shop";
  ASSERT_EQ(run(&run_certificate_list, options), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("is of the project 'web-shop'"),
                                HasSubstr("`openstack project show NAME -f value -c id`")));
}

TEST_F(Mirror, AnEmptyListSaysWhyAndIsNoLine) {
  CertificateOptions options;
  options.from = options.to = "2020-01-01";
  ASSERT_EQ(run(&run_certificate_list, options, Format::table), 0);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("no erasure in the period from 2020-01-01 to 2020-01-01: 5 "
                                    "erasures are of another time\n"));
  options.host = "compute-2";
  ASSERT_EQ(run(&run_certificate_list, options, Format::table), 0);
  EXPECT_THAT(err_.str(), HasSubstr(": 3 erasures are of another time\n"));
  config::Settings settings;
  settings.state_path = state_path_;
  err_.str("");
  EXPECT_EQ(run_audit_list(settings, {}, out_, err_), 0);
  EXPECT_EQ(err_.str(), "nothing has happened here yet\n");
}

TEST_F(Mirror, AChainOfAnotherHostsKeyProvesNothing) {
  write(keys_ + "/compute-2.pub", *key_named("compute-1").public_key().pem());
  EXPECT_EQ(run(&run_certificate_report, of_project()), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"chain\": \"broken\""));
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("not whole: 1 of 2 chains are whole"),
                                HasSubstr("host compute-2: ")));
  EXPECT_EQ(run(&run_certificate_report, of_project(), Format::csv), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("2026-10-05T10:00:00.000Z\",\"verified\""),
                                HasSubstr("2026-10-07T10:00:00.000Z\",\"broken\"")));
  std::filesystem::remove(keys_ + "/compute-2.pub");
  EXPECT_EQ(run(&run_certificate_report, of_project()), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"chain\": \"not_checked\""));
  EXPECT_THAT(err_.str(), HasSubstr("the host's public key is needed"));
  CertificateOptions no_keys = of_project();
  no_keys.public_keys.clear();
  EXPECT_EQ(run(&run_certificate_report, no_keys), 1);
  EXPECT_THAT(err_.str(), HasSubstr("--public-key FOLDER"));
}

// Whoever may write the mirror takes a chain away, and its erasures and unerased tenancies with it.
TEST_F(Mirror, AHostWithAKeyAndNoChainIsSaid) {
  namespace fs = std::filesystem;
  const std::string folder = mirror_ + "/compute-2";
  const std::string aside = state_path_ + "/aside";
  fs::rename(folder, aside);
  const std::vector<std::pair<const char*, std::function<void()>>> in_its_place = {
      {"nothing", [] {}},
      {"a file", [&] { write(folder, ""); }},
      {"a link", [&] { fs::create_directory_symlink(aside, folder); }},
      {"a hidden folder", [&] { fs::copy(aside, mirror_ + "/.compute-2"); }}};
  for (const auto& [what, put] : in_its_place) {
    fs::remove_all(folder);
    put();
    EXPECT_EQ(run(&run_certificate_report, of_project()), 1) << what;
    EXPECT_THAT(out_.str(),
                AllOf(HasSubstr("\"chain\": \"not_checked\""), HasSubstr("1 of 2 chains are whole"),
                      HasSubstr("no chain: compute-2")))
        << what;
    EXPECT_THAT(err_.str(), HasSubstr("host compute-2: no chain: ")) << what;
    CertificateOptions page = of_project();
    page.html = true;
    EXPECT_EQ(run(&run_certificate_report, page), 1) << what;
    EXPECT_THAT(out_.str(), HasSubstr("host compute-2: no chain: ")) << what;
  }
  CertificateOptions of_one = of_project();
  of_one.host = "compute-1";
  EXPECT_EQ(run(&run_certificate_report, of_one), 0) << err_.str();
  write(keys_ + "/.compute-9.pub", "no key");
  fs::remove_all(folder);
  fs::rename(aside, folder);
  EXPECT_EQ(run(&run_certificate_report, of_project()), 0) << err_.str();
}

// Whoever may write the mirror empties the folder, and leaves it.
TEST_F(Mirror, AHostWithoutAnEntryIsSaid) {
  const auto emptied = [&](const std::string& host) {
    std::filesystem::remove_all(mirror_ + "/" + host);
    std::filesystem::create_directory(mirror_ + "/" + host);
  };
  emptied("compute-2");
  EXPECT_EQ(run(&run_certificate_list, of_project()), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("compute-1"), Not(HasSubstr("compute-2"))));
  EXPECT_THAT(err_.str(), HasSubstr(mirror_ + "/compute-2: has no entry: is it the folder of a"));
  EXPECT_EQ(run(&run_certificate_report, of_project()), 1);
  EXPECT_THAT(err_.str(), HasSubstr("host compute-2: no entry yet"));
  CertificateOptions of_one = of_project();
  of_one.host = "compute-1";
  EXPECT_EQ(run(&run_certificate_list, of_one), 0) << err_.str();
  emptied("compute-1");
  for (const auto command : {&run_certificate_list, &run_certificate_report}) {
    EXPECT_EQ(run(command, {}), 1);
    EXPECT_THAT(err_.str(), HasSubstr("has no entry: is it the folder of a chain?"));
  }
}

// Who has a key that leaked cuts a copy before its revocation, and goes on with it.
TEST_F(Mirror, EachKeyOfAHostHasToHaveSignedThere) {
  namespace fs = std::filesystem;
  const std::string folder = mirror_ + "/compute-1";
  const std::string both =
      *key_named("compute-1").public_key().pem() + *key_named("next").public_key().pem();
  fs::copy(folder, state_path_ + "/cut");
  AuditEntry endorsed;
  endorsed.event = AuditEvent::key_endorsed;
  endorsed.host = "compute-1";
  endorsed.public_key = *key_named("next").public_key().pem();
  endorsed.at = at("2026-10-06T11:00:00Z");
  endorsed = identified(endorsed);
  ASSERT_TRUE(CertificateChain(folder, key_named("compute-1"))
                  .keep(endorsed.id, encode_audit(endorsed), SealedKind::audit)
                  .ok());
  ASSERT_TRUE(CertificateChain(folder, key_named("next")).keep(id_of(8), certificate_text(8)).ok());
  EXPECT_EQ(run(&run_certificate_report, of_project()), 0) << "the oldest alone: " << err_.str();
  write(keys_ + "/compute-1.pub", both);
  EXPECT_EQ(run(&run_certificate_report, of_project()), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"chain\": \"verified\""));
  fs::remove_all(folder);
  fs::rename(state_path_ + "/cut", folder);
  EXPECT_EQ(run(&run_certificate_report, of_project()), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"chain\": \"broken\""));
  EXPECT_THAT(err_.str(), HasSubstr("host compute-1: 1 wrong, first: key " +
                                    key_named("next").public_key().id() +
                                    ": has signed nothing in this chain"));
  for (const std::string& wrong : {both + "-----BEGIN X509 CRL-----\n", std::string("none")}) {
    write(keys_ + "/compute-1.pub", wrong);
    EXPECT_EQ(run(&run_certificate_report, of_project()), 1) << wrong;
    EXPECT_THAT(err_.str(), HasSubstr(keys_ + "/compute-1.pub: holds no public key")) << wrong;
  }
}

TEST_F(Mirror, ANotedEntryOfAHostIsStillThere) {
  namespace fs = std::filesystem;
  const auto files = list_chain(mirror_ + "/compute-2")->files;
  const auto digest = [&](std::size_t i) {
    return sha256_of(content(mirror_ + "/compute-2/" + files.at(i).name));
  };
  const std::string noted = "3:" + digest(2);
  const std::string note = keys_ + "/compute-2.head";
  const auto said = [&](const std::string& host, const std::string& what) {
    CertificateOptions options = of_project();
    options.host = host;
    EXPECT_EQ(run(&run_certificate_report, options), what.empty() ? 0 : 1) << err_.str();
    EXPECT_THAT(err_.str(), HasSubstr(what));
  };
  write(note, noted);
  said("", "");
  write(note, noted + "\n");
  said("", "");
  for (const std::string& wrong :
       {std::string(), std::string("3"), digest(2), noted + "\n" + noted, noted + "\n\n"}) {
    write(note, wrong);
    said("", "host compute-2: 1 wrong, first: " + note + ": '");
    EXPECT_THAT(err_.str(), HasSubstr("is not SEQUENCE:SHA256"));
  }
  fs::remove(note);
  fs::create_symlink("nowhere", note);
  said("", "No such file");
  fs::remove(note);
  ASSERT_EQ(::mkfifo(note.c_str(), 0600), 0);
  said("", note + " is not a regular file");
  fs::remove(note);
  write(note, noted);
  fs::remove(mirror_ + "/compute-2/" + files.at(2).name);
  write(mirror_ + "/compute-2/head", digest(1) + "  " + files.at(1).name + "\n");
  said("", "host compute-2: 1 wrong, first: entry 3: is not there as it was noted");
  said("compute-1", "");
  write(keys_ + "/compute-9.head", noted);
  said("", "no chain: compute-9");
  fs::remove(keys_ + "/compute-9.head");
  fs::remove(note);
  said("", "");  // with nothing noted, a chain that was cut is whole
}

TEST_F(Mirror, WhatIsNoKeyAndNoNoteIsNotPassedOver) {
  for (const char* name : {"compute-1.heads", "compute-1.pub.bak", ".pub.", "README"}) {
    const std::string path = keys_ + "/" + name;
    write(path, "");
    EXPECT_EQ(run(&run_certificate_report, of_project()), name[0] == '.' ? 0 : 1) << name;
    if (name[0] != '.') {
      EXPECT_THAT(err_.str(), HasSubstr(path + " is neither HOST.pub nor HOST.head"));
    }
    std::filesystem::remove(path);
  }
}

// Its root may write there what it likes: it is shown under the name of the chain that has it.
TEST_F(Mirror, NoHostSpeaksForAnother) {
  add("compute-3", {{kProject, "2026-10-09T10:00:00Z"}});
  std::filesystem::rename(mirror_ + "/compute-3", mirror_ + "/compute-4");
  std::filesystem::rename(keys_ + "/compute-3.pub", keys_ + "/compute-4.pub");
  ASSERT_EQ(run(&run_certificate_list, of_project()), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("compute-4"), Not(HasSubstr("compute-3"))));
  ASSERT_EQ(run(&run_certificate_report, of_project()), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("compute-4"), Not(HasSubstr("compute-3"))));
}

// No chain of the two tells it alone.
TEST_F(Mirror, ADriveThatWasMovedUnerasedIsSaid) {
  const auto tell = [&](const std::string& host, AuditEvent event, const std::string& project,
                        const std::string& when) {
    AuditEntry entry;
    entry.event = event;
    entry.host = host;
    entry.address = "0000:c2:00.0";
    entry.serial = "MOVED";
    entry.instance = "instance-of-" + project;
    entry.project = project;
    entry.at = at(when);
    entry = identified(entry);
    ASSERT_TRUE(CertificateChain(mirror_ + "/" + host, key_named(host))
                    .keep(entry.id, encode_audit(entry), SealedKind::audit)
                    .ok());
  };
  tell("compute-2", AuditEvent::tenancy_seen, kProject, "2026-10-10T10:00:00Z");
  tell("compute-2", AuditEvent::tenancy_ended, kProject, "2026-10-11T10:00:00Z");
  EXPECT_EQ(run(&run_certificate_report, of_project()), 0) << err_.str();
  tell("compute-1", AuditEvent::tenancy_seen, kOther, "2026-10-12T10:00:00Z");
  CertificateOptions of_other = of_project();
  of_other.project = kOther;
  for (const CertificateOptions& options : {of_project(), of_other}) {
    EXPECT_EQ(run(&run_certificate_report, options), 2) << err_.str();
    EXPECT_THAT(
        out_.str(),
        AllOf(HasSubstr("\"unerased_tenancies\": 1,"), HasSubstr("\"Host\": \"compute-1\""),
              HasSubstr("\"Serial\": \"MOVED\""),
              HasSubstr("may be, of a drive with the same serial: no erasure between the tenancy "
                        "of entry 4 of host compute-2 (2026-10-10T10:00:00.000Z) and this one\"")));
  }
  // A list of erasures has no row for what was not erased.
  EXPECT_EQ(run(&run_certificate_report, of_other, Format::csv), 2);
  EXPECT_THAT(out_.str(), Not(HasSubstr("MOVED")));
  EXPECT_THAT(err_.str(),
              HasSubstr("1 tenancy has no erasure: `-f json` shows it, CSV does not\n"));
  of_other.project = "22222222222222222222222222222222";
  EXPECT_EQ(run(&run_certificate_report, of_other, Format::csv), 0) << "a third one's";
  EXPECT_THAT(err_.str(), Not(HasSubstr("CSV")));

  // Whoever may write the mirror adds a host, of which nobody has a key, that erased it.
  Certificate erased = *decode_certificate(certificate_text(++made_));
  erased.host = "compute-9";
  erased.serial = "MOVED";
  erased.verified_at = erased.released_at = at("2026-10-11T12:00:00Z");
  erased.started_at = at("2026-10-11T11:00:00Z");
  ASSERT_TRUE(CertificateChain(mirror_ + "/compute-9", key_named("compute-9"))
                  .keep(erased.id, encode_certificate(erased))
                  .ok());
  EXPECT_EQ(run(&run_certificate_report, of_project()), 1) << "without a key nothing is checked";
  EXPECT_THAT(out_.str(), HasSubstr("\"unerased_tenancies\": 1,"));
}

TEST_F(Mirror, NoMirrorIsSaid) {
  config::Settings settings;
  CertificateOptions options = of_project();
  options.all_hosts = true;
  EXPECT_EQ(run_certificate_list(settings, options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("name the mirror with --folder"));
  options.folder = state_path_ + "/nowhere";
  EXPECT_EQ(run_certificate_list(settings, options, out_, err_), 1);
  EXPECT_THAT(err_.str(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace reclaim::cli
