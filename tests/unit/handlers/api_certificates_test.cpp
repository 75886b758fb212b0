// Certificates through the API: which there are, and the sealed bytes as their host stored them.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "handlers/api/certificate_list.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string id_of(int number) {
  return fmt::format("5f0f7f0e-8f0c-4b51-9a55-{:012}", number);
}

class ApiCertificatesTest : public ApiTest {
 protected:
  // A device and the certificate of its last release, or of its erasure, if it was not returned.
  Record& certified(const std::string& host, const std::string& address, int number,
                    const std::string& serial, const std::string& not_returned = "") {
    Record& record = drive(host, address, Stage::available);
    record.certificate_id = id_of(number);
    Certificate certificate;
    certificate.id = record.certificate_id;
    certificate.host = host;
    certificate.address = address;
    certificate.device_uuid = record.uuid;
    certificate.flow = "nova";
    certificate.vendor_id = "144d";
    certificate.product_id = "a80a";
    certificate.tool_version = "0.1.0";
    certificate.model = "Example NVMe";
    certificate.serial = serial;
    certificate.instance = "a11a5487-696b-4d4e-a487-6b9ec9d7e458";
    certificate.method = "sanitize_crypto";
    certificate.sanitization_class = "purge";
    certificate.evidence = R"({"method":"sanitize_crypto"})";
    certificate.verification =
        R"({"level":"sample","samples_read":3,"samples_counted":3,"samples_unchanged":0,)"
        R"("bytes_read":4096,"canaries_found":0,"global_data_erased":true,)"
        R"("expectation":"changed"})";
    certificate.findings = "{}";
    certificate.project = "8d0e5b2c1a474f6d9b3e7c5a90f1e2d3";
    certificate.started_at = *from_iso8601("2026-05-15T10:23:45Z");
    certificate.verified_at = *from_iso8601("2026-05-15T10:25:00Z");
    certificate.not_returned = not_returned;
    if (not_returned.empty()) certificate.released_at = *from_iso8601("2026-05-15T10:25:30Z");
    store.certificates[{host, address}] = fmt::format(
        "{{\"sealed\":\n{{\"sequence\":{},\"previous\":\"{}\",\"key_id\":\"{}\","
        "\"certificate\":{}}}\n,\"signature\":\"{}==\"}}\n",
        std::max(number, 1), std::string(64, '0'), std::string(64, 'a'),
        encode_certificate(certificate), std::string(86, 'A'));
    return record;
  }
  std::vector<std::string> ids(const std::string& query) {
    const Response response = get("/v2/certificates" + query, "2.6");
    EXPECT_EQ(response.status, 200) << query << fault_of(response);
    std::vector<std::string> found;
    const auto parsed = json::parse(response.body, 1U << 20U);
    next.clear();
    if (!parsed || !parsed->HasMember("certificates")) return {"no list: " + response.body};
    for (const auto& one : (*parsed)["certificates"].GetArray()) {
      found.emplace_back(one["id"].GetString());
    }
    const rapidjson::Value* links = json::find(*parsed, "certificates_links");
    if (links != nullptr) next = json::maybe_string((*links)[0], "href").value_or("");
    return found;
  }

  std::string next;  // of the last list
};

TEST_F(ApiCertificatesTest, TheListIsTheGoldenOne) {
  certified("compute-1", "0000:01:00.0", 2, "S1");
  drive("compute-2", "0000:02:00.0", Stage::error);
  expect_golden("certificates-2.6.json", get("/v2/certificates", "2.6").body);
}

TEST_F(ApiCertificatesTest, OneIsTheSealedBytesUnchanged) {
  certified("compute-1", "0000:01:00.0", 2, "S1");
  const Response response = get("/v2/certificates/" + id_of(2), "2.6");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "Content-Type"), "application/json");
  const std::string sealed = store.certificates[{"compute-1", "0000:01:00.0"}];
  EXPECT_EQ(response.body, sealed);
  EXPECT_EQ(std::count(sealed.begin(), sealed.end(), '\n'), 3);
}

TEST_F(ApiCertificatesTest, TheyHaveARuleOfTheirOwnAndAMicroversion) {
  certified("compute-1", "0000:01:00.0", 2, "S1");
  for (const std::string& path :
       {std::string("/v2/certificates"), "/v2/certificates/" + id_of(2)}) {
    EXPECT_EQ(get(path, "2.5").status, 406) << path;
    const Response refused = get(path, "2.6", "manager");
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_THAT(fault_of(refused), HasSubstr("reclaim:certificate:get"));
  }
  start({{"reclaim:certificate:get", "role:reader"}}, {});
  EXPECT_EQ(get("/v2/certificates", "2.6", "reader").status, 200);
  EXPECT_EQ(get("/v2/devices", "2.6", "reader").status, 403);
}

TEST_F(ApiCertificatesTest, WhatIsNotTheNewestOfItsDeviceIs404WithWhereToLook) {
  Record& record = certified("compute-1", "0000:01:00.0", 2, "S1");
  for (const std::string& id : {id_of(7), std::string("x")}) {
    const Response response = get("/v2/certificates/" + id, "2.6");
    EXPECT_EQ(response.status, 404) << id;
    EXPECT_THAT(fault_of(response), HasSubstr("`reclaim certificate show ID`"));
  }
  // A release later, and not sealed yet: what is in Redis is of the release before.
  record.certificate_id = id_of(3);
  record.certificate_pending = "{}";
  clock.advance(2'000);
  EXPECT_EQ(get("/v2/certificates/" + id_of(3), "2.6").status, 404);
  EXPECT_EQ(get("/v2/certificates/" + id_of(2), "2.6").status, 200);
  EXPECT_THAT(ids(""), ElementsAre(id_of(2)));
}

// No record names what was not returned: the drive's last release is there, or none.
TEST_F(ApiCertificatesTest, WhatWasNotReturnedIsListedAndServed) {
  certified("compute-1", "0000:01:00.0", 2, "S1", "retired: reused: 'case 4711'")
      .certificate_id.clear();
  Record& worn = certified("compute-1", "0000:02:00.0", 3, "S2", "percentage_used is 101");
  worn.certificate_id = id_of(1);
  worn.stage = Stage::error;
  EXPECT_THAT(ids(""), ElementsAre(id_of(2), id_of(3)));
  const std::string list = get("/v2/certificates", "2.6").body;
  EXPECT_THAT(list, HasSubstr(R"("released_at":null)"));
  EXPECT_THAT(list, Not(HasSubstr("damaged")));
  EXPECT_THAT(ids("?serial=S1"), ElementsAre(id_of(2)));
  EXPECT_THAT(ids("?marker=" + id_of(2)), ElementsAre(id_of(3)));
  for (const auto& [id, address] :
       {std::pair(id_of(2), "0000:01:00.0"), {id_of(3), "0000:02:00.0"}}) {
    const Response one = get("/v2/certificates/" + id, "2.6");
    EXPECT_EQ(one.status, 200) << id;
    EXPECT_EQ(one.body, (store.certificates[{"compute-1", address}])) << id;
  }
  EXPECT_EQ(get("/v2/certificates/" + id_of(1), "2.6").status, 404);
}

// Another host's word for the id of one that no record names is still a second one.
TEST_F(ApiCertificatesTest, NoHostAnswersForWhatWasNotReturned) {
  certified("compute-1", "0000:01:00.0", 2, "OTHER");
  certified("compute-2", "0000:01:00.0", 2, "S1", "retired: reused: 'r'").certificate_id.clear();
  EXPECT_EQ(get("/v2/certificates/" + id_of(2), "2.6").status, 409);
}

TEST_F(ApiCertificatesTest, WhatItsRecordDoesNotNameIsSaid) {
  Record& record = certified("compute-1", "0000:01:00.0", 2, "S1");
  record.certificate_id = id_of(3);
  const auto list = [&] {
    clock.advance(2'000);
    return get("/v2/certificates", "2.6").body;
  };
  EXPECT_THAT(list(), HasSubstr(R"({"certificates":[],"damaged":[{"hostname":"compute-1")"));
  EXPECT_THAT(list(), HasSubstr("`reclaim certificate show " + id_of(3) + "`"));
  for (const std::string& id : {id_of(2), id_of(3)}) {
    const Response one = get("/v2/certificates/" + id, "2.6");
    EXPECT_EQ(one.status, 404) << id;
    EXPECT_THAT(fault_of(one), HasSubstr("the record of its device names another one")) << id;
  }
  // Sealed since the record was read.
  record.updated_at = *from_iso8601("2026-05-15T10:25:29Z");
  EXPECT_THAT(list(), Not(HasSubstr("damaged")));
  record.updated_at = *from_iso8601("2026-05-15T10:25:31Z");
  record.stage = Stage::confirming;
  EXPECT_THAT(list(), Not(HasSubstr("damaged")));
  EXPECT_THAT(ids(""), ElementsAre(id_of(2)));
}

// More than are read at the same time, and no record names it.
TEST_F(ApiCertificatesTest, AllDevicesAreAskedForAnId) {
  for (int i = 0; i < 70; ++i) {
    certified("compute-1", fmt::format("0000:{:02x}:00.0", i), i, "S", "worn").certificate_id = "";
  }
  EXPECT_EQ(get("/v2/certificates/" + id_of(69), "2.6").status, 200);
  EXPECT_THAT(ids("?limit=2&marker=" + id_of(40)), ElementsAre(id_of(41), id_of(42)));
}

// What a host's login writes in its own keys: another's certificate id, and a text of its own.
TEST_F(ApiCertificatesTest, NoHostSpeaksForAnother) {
  certified("compute-2", "0000:01:00.0", 2, "S1");
  const std::string honest = store.certificates[{"compute-2", "0000:01:00.0"}];
  certified("compute-1", "0000:01:00.0", 2, "FORGED");
  std::string& forged = store.certificates[{"compute-1", "0000:01:00.0"}];
  const std::string of_its_own = forged;
  const auto as = [&](const std::string& from, const std::string& to) {
    forged = of_its_own;
    for (std::size_t at = 0; (at = forged.find(from, at)) != std::string::npos; at += to.size()) {
      forged.replace(at, from.size(), to);
    }
  };
  const std::string other_uuid = device_uuid("compute-2", *parse_pci_address("0000:01:00.0"));
  const std::string own_uuid = device_uuid("compute-1", *parse_pci_address("0000:01:00.0"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"compute-1", "compute-2"}, {"0000:01:00.0", "0000:02:00.0"}, {own_uuid, other_uuid}}) {
    as(from, to);
    EXPECT_EQ(get("/v2/certificates/" + id_of(2), "2.6").body, honest) << from;
    const Response list = get("/v2/certificates", "2.6");
    EXPECT_THAT(list.body, Not(HasSubstr("FORGED"))) << from;
    EXPECT_THAT(list.body, HasSubstr(R"("damaged":[{"hostname":"compute-1")")) << from;
    EXPECT_THAT(list.body, HasSubstr(R"("serial":"S1")"));
    // A page goes on behind the device whose certificate it is.
    EXPECT_THAT(ids("?marker=" + id_of(2)), IsEmpty()) << from;
  }
  store.certificates.erase({"compute-2", "0000:01:00.0"});
  const Response none = get("/v2/certificates/" + id_of(2), "2.6");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(fault_of(none), HasSubstr("at 0000:01:00.0 of host compute-1, cannot be believed"));
}

// A text for a device of its own that says so, with the id of another host's certificate.
TEST_F(ApiCertificatesTest, NoHostAnswersForTheIdOfAnothers) {
  certified("compute-2", "0000:01:00.0", 2, "S1");
  const std::string honest = store.certificates[{"compute-2", "0000:01:00.0"}];
  certified("compute-1", "0000:01:00.0", 2, "OTHER");
  const Response both = get("/v2/certificates/" + id_of(2), "2.6");
  EXPECT_EQ(both.status, 409);
  EXPECT_THAT(fault_of(both), HasSubstr("0000:01:00.0 of host compute-1 and 0000:01:00.0 of host "
                                        "compute-2"));
  EXPECT_THAT(fault_of(both), HasSubstr("?hostname="));
  EXPECT_EQ(get("/v2/certificates/" + id_of(2) + "?hostname=compute-2", "2.6").body, honest);
  EXPECT_EQ(get("/v2/certificates/" + id_of(2) + "?hostname=compute-3", "2.6").status, 404);
  const Response marked = get("/v2/certificates?marker=" + id_of(2), "2.6");
  EXPECT_EQ(marked.status, 400);
  EXPECT_THAT(fault_of(marked), HasSubstr("the device_uuid of the last row"));
}

// Of a text that is not spelled as Reclaim seals it, two readers take two things: the API the first
// of two members, most others the last.
TEST_F(ApiCertificatesTest, WhatIsNotSpelledAsASealIsServedToNobody) {
  certified("compute-1", "0000:01:00.0", 2, "S1");
  std::string& text = store.certificates[{"compute-1", "0000:01:00.0"}];
  const std::string sealed = text;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = sealed;
    for (std::size_t at = 0; (at = changed.find(from, at)) != std::string::npos; at += to.size()) {
      changed.replace(at, from.size(), to);
    }
    EXPECT_NE(changed, sealed) << from;
    return changed;
  };
  const std::string other = R"("host":"compute-2","address":"0000:03:00.0","serial":"S9")";
  const std::string closing = "}}\n,\"signature\"";
  for (const std::string& damaged :
       {with(closing, "," + other + closing),
        with(closing, R"(,"h\u006fst":"compute-2")" + closing),
        with("\"schema\":", R"("h\u006fst":"compute-2","schema":)"),
        with("\"host\":", "\"host\": "), with(closing, R"(},"certificate":{)" + other + closing),
        with(closing, R"(},"audit":{)" + other + closing),
        with(",\"signature\"", R"(,"sealed":{"certificate":{)" + other + "}},\"signature\""),
        with("\"}\n", "\",\"signature\":\"\"}\n"),
        with(closing, ",\"x\":" + std::string(60, '[') + std::string(60, ']') + closing),
        with(",\"signature\":\"" + std::string(86, 'A') + "==\"", ""), with("\n", ""),
        with("\n", "\r\n"), "\xef\xbb\xbf" + sealed, sealed + ' ', sealed + std::string(1, '\0'),
        sealed + sealed}) {
    text = damaged;
    EXPECT_THAT(get("/v2/certificates", "2.6").body,
                HasSubstr(R"({"certificates":[],"damaged":[{"hostname":"compute-1")"))
        << damaged;
    const Response one = get("/v2/certificates/" + id_of(2), "2.6");
    EXPECT_EQ(one.status, 404) << damaged;
    EXPECT_THAT(fault_of(one), HasSubstr("cannot be believed")) << damaged;
  }
  text = sealed;
  EXPECT_EQ(get("/v2/certificates/" + id_of(2), "2.6").body, sealed);
}

// For who reads the text of each: one host's would end the list of all.
TEST_F(ApiCertificatesTest, WhatBreaksThePublishedSchemaCostsItsRowAlone) {
  certified("compute-1", "0000:01:00.0", 1, "S1");
  certified("compute-2", "0000:01:00.0", 2, "S2");
  std::string& text = store.certificates[{"compute-1", "0000:01:00.0"}];
  const std::string sealed = text;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("project":"8d0e5b2c1a474f6d9b3e7c5a90f1e2d3")", R"("project":5)"},
           {R"("project":)", R"("user":[],"project":)"},
           {R"("project":)", R"("heard":"x","project":)"},
           {R"("findings":{})", R"("findings":7)"},
           {R"("evidence":{"method":"sanitize_crypto"})", R"("evidence":"")"},
           {R"("level":"sample")", R"("level":{})"},
           {"2026-05-15T10:25:30.000Z", "2026-05-32T10:25:30.000Z"}}) {
    text = sealed;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    EXPECT_THAT(ids(""), ElementsAre(id_of(2))) << to;
    EXPECT_THAT(get("/v2/certificates", "2.6").body,
                HasSubstr(R"("damaged":[{"hostname":"compute-1","address":"0000:01:00.0")"))
        << to;
    EXPECT_EQ(get("/v2/certificates/" + id_of(1), "2.6").status, 404) << to;
  }
  text = sealed;
  EXPECT_THAT(ids(""), ElementsAre(id_of(1), id_of(2)));
}

TEST_F(ApiCertificatesTest, PagesEndThoughAllHaveOneId) {
  for (int i = 0; i < 7; ++i) {
    certified("compute-1", fmt::format("0000:{:02x}:00.0", i), 1, "S");
  }
  certified("compute-2", "0000:01:00.0", 2, "S");
  std::vector<std::string> found;
  std::string query = "?limit=2";
  for (int pages = 0; pages < 10 && !query.empty(); ++pages) {
    const auto page = ids(query);
    found.insert(found.end(), page.begin(), page.end());
    query = next.empty() ? next : next.substr(next.find('?'));
  }
  EXPECT_EQ(query, "");
  EXPECT_EQ(found.size(), 8U);
  EXPECT_EQ(found.back(), id_of(2));
}

TEST_F(ApiCertificatesTest, AnIdIsAUuid) {
  for (const std::string& id :
       {std::string("../../../x"), std::string("5F0F7F0E-8F0C-4B51-9A55-000000000001")}) {
    store.records.clear();
    certified("compute-1", "0000:01:00.0", 1, "S1").certificate_id = id;
    std::string& text = store.certificates[{"compute-1", "0000:01:00.0"}];
    text.replace(text.find(id_of(1)), id_of(1).size(), id);
    clock.advance(2'000);
    EXPECT_THAT(ids(""), IsEmpty()) << id;
    EXPECT_THAT(get("/v2/certificates", "2.6").body,
                HasSubstr(R"("damaged":[{"hostname":"compute-1","address":"0000:01:00.0")"));
  }
}

TEST_F(ApiCertificatesTest, FiltersSelectByHostDeviceAndSerialOfTheCertificate) {
  Record& first = certified("compute-1", "0000:01:00.0", 1, "S1");
  const std::string first_uuid = first.uuid;
  // Another drive was put there since.
  first.serial = "S9";
  const std::string cyborgs = "7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22";
  certified("compute-2", "0000:01:00.0", 2, "S2").cyborg_uuid = cyborgs;
  certified("compute-2", "0000:02:00.0", 3, "S3");
  EXPECT_THAT(ids(""), ElementsAre(id_of(1), id_of(2), id_of(3)));
  EXPECT_THAT(ids("?hostname=compute-2"), ElementsAre(id_of(2), id_of(3)));
  EXPECT_THAT(ids("?hostname=elsewhere"), IsEmpty());
  EXPECT_THAT(ids("?device_uuid=" + first_uuid), ElementsAre(id_of(1)));
  EXPECT_THAT(ids("?device_uuid=" + cyborgs), ElementsAre(id_of(2)));
  EXPECT_THAT(ids("?serial=S1"), ElementsAre(id_of(1)));
  EXPECT_THAT(ids("?serial=S9"), IsEmpty());
  EXPECT_THAT(ids("?serial="), ::testing::SizeIs(3));
}

TEST_F(ApiCertificatesTest, PagesHaveEachOnce) {
  for (int i = 0; i < 70; ++i) {
    certified(i < 40 ? "compute-1" : "compute-2", fmt::format("0000:{:02x}:00.0", i), i,
              i % 2 == 0 ? "even" : "odd");
  }
  std::vector<std::string> wanted;
  for (int i = 1; i < 70; i += 2) wanted.push_back(id_of(i));
  for (const int limit : {1, 7, 34, 35, 36, 1000}) {
    std::vector<std::string> found;
    std::string query = fmt::format("?serial=odd&limit={}", limit);
    for (int pages = 0; pages < 40; ++pages) {
      const auto page = ids(query);
      EXPECT_LE(page.size(), static_cast<std::size_t>(limit));
      found.insert(found.end(), page.begin(), page.end());
      if (next.empty()) break;
      query = next.substr(next.find('?'));
    }
    EXPECT_EQ(found, wanted) << limit;
  }
  store.certificates_read = 0;
  static_cast<void>(ids("?limit=1"));
  EXPECT_LE(store.certificates_read, 32U) << "no more than are needed, some at a time";
}

TEST_F(ApiCertificatesTest, WithoutALimitThereAre100) {
  for (int i = 0; i < 120; ++i) {
    certified("compute-1", fmt::format("0000:{:02x}:00.0", i), i, "S");
  }
  EXPECT_EQ(ids("").size(), 100U);
  EXPECT_THAT(next,
              HasSubstr("?marker=" + device_uuid("compute-1", *parse_pci_address("0000:63:00.0"))));
}

TEST_F(ApiCertificatesTest, ABadValueNamesTheParameterAndWhatIsAccepted) {
  certified("compute-1", "0000:01:00.0", 1, "S1");
  const std::vector<std::pair<std::string, std::string>> table{
      {"?limit=0", "limit = '0'; accepted is a number from 1 to 1000"},
      {"?marker=x", "marker = 'x'; accepted is the UUID of a certificate"},
      {"?marker=" + id_of(9), "accepted is the device_uuid of the last row"},
      {"?colour=red", "'colour'; accepted are hostname, device_uuid, serial, limit, marker"},
      {"?serial=a&serial=b", "serial is given twice"},
  };
  for (const auto& [query, text] : table) {
    const Response response = get("/v2/certificates" + query, "2.6");
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_THAT(fault_of(response), HasSubstr(text)) << query;
  }
  EXPECT_EQ(get("/v2/certificates/" + id_of(1) + "?limit=1", "2.6").status, 400);
}

TEST_F(ApiCertificatesTest, WhatCannotBeReadIsLeftOutAndTold) {
  certified("compute-1", "0000:01:00.0", 1, "S1");
  certified("compute-1", "0000:02:00.0", 2, "S2");
  for (const std::string& text :
       {std::string("no JSON"), std::string("{}"), std::string("[]"),
        std::string(R"({"sealed":{"sequence":1,"audit":{}}})"),
        std::string(R"({"sealed":{"sequence":"x","certificate":{}}})"),
        std::string(R"({"sealed":{"sequence":1,"certificate":{"id":"5"}}})")}) {
    store.certificates[{"compute-1", "0000:01:00.0"}] = text;
    EXPECT_THAT(ids(""), ElementsAre(id_of(2))) << text;
    EXPECT_THAT(logger.lines.back(), HasSubstr("0000:01:00.0 of host compute-1 cannot be read"));
    EXPECT_EQ(get("/v2/certificates/" + id_of(1), "2.6").status, 404) << text;
  }
  store.certificates.clear();
  EXPECT_THAT(ids(""), IsEmpty());
}

TEST_F(ApiCertificatesTest, RedisAwayIs503) {
  certified("compute-1", "0000:01:00.0", 1, "S1");
  static_cast<void>(get("/v2/devices"));
  store.away = true;
  EXPECT_EQ(get("/v2/certificates", "2.6").status, 503);
  EXPECT_EQ(get("/v2/certificates/" + id_of(1), "2.6").status, 503);
  EXPECT_THAT(get("/v2/certificates", "2.6").body, Not(HasSubstr("127.0.0.1")));
}

}  // namespace
}  // namespace reclaim::api
