// A certificate as a page: what it says stands there, and nothing of it is obeyed.
#include "cli/certificate_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <string_view>

#include "cli/html.h"
#include "state/base/json.h"
#include "tests/test_seed.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const std::string& certificate) {
  const auto document = json::parse(certificate, 100'000);
  EXPECT_TRUE(document.ok()) << certificate;
  return certificate_page(*document, {7, "0000", "91ab", "/c/7.json", "5d0c"});
}

TEST(CertificatePage, SaysWhatAnAuditorAsksFor) {
  const std::string page = page_of(R"({"schema": 1, "id": "id-7", "host": "c1", "model": "M",
    "serial": "S1", "address": "0000:c1:00.0", "capacity_bytes": 1920000000000,
    "method": "sanitize_crypto", "sanitization_class": "purge", "instance": "vm-1",
    "tags": ["a", "b"], "started_at": "2026-01-01T00:00:00.000Z", "tool_version": "0.1.0",
    "evidence": {"sstat": 257, "global_data_erased": true, "duration_ms": 7274},
    "verification": {"level": "sample", "samples_read": 253},
    "findings": {"nvme.check_health": [{"surface": "media_errors", "found": "0 in all",
      "reset": false}, {"surface": "features", "found": "1 differs", "reset": true}]},
    "timeline": [{"stage": "erasing", "at": "2026-01-01T00:00:01.000Z"},
      {"stage": "verifying", "at": "2026-01-01T00:00:08.250Z"},
      {"stage": "releasing", "at": "2026-01-01T00:00:07.000Z"}],
    "something_new": 5})");
  for (const char* text :
       {"<p class=\"verdict doubt\">signature not checked by this page: <code>reclaim certificate "
        "verify "
        "id-7<",
        "Purge: recovery is infeasible", "1.9 TB (1920000000000 bytes)",
        "<th>Global data erased</th><td>yes</td>", "<th>Duration</th><td>7.3 s</td>",
        "<th>Samples read</th><td>253</td>",
        "media errors: 0 in all; features: 1 differs <b>(reset)</b>", "<th>Tags</th><td>a, b</td>",
        "<th>Erasing</th><td>2026-01-01T00:00:01.000Z (7.250 s)</td>",
        "<th>Verifying</th><td>2026-01-01T00:00:08.250Z</td>", "<th>Something new</th><td>5</td>",
        "number 7 of host c1", "<th>SHA-256 of the file</th><td>5d0c</td>",
        "reclaim certificate verify id-7"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(CertificatePage, NamesMakerMediumAndRegistersAndLeavesOutZeroesThatSayNothing) {
  const std::string page = page_of(R"({"id": "i", "vendor_id": "144d", "product_id": "a80a",
    "method": "sanitize_crypto", "sanitization_class": "purge", "capacity_bytes": 0,
    "evidence": {"cdw10": 4, "scdw10": 4, "sstat": 257, "adopted": false, "bytes_zeroed": 0,
      "commands": 0},
    "verification": {"samples_unchanged": 0, "canaries_found": 0, "places_unreadable": 0,
      "relaxed": [], "fit": true}})");
  for (const char* text : {"<th>Manufacturer</th><td>Samsung, PCI vendor 0x144d</td>",
                           "<td>0xa80a</td>", "<th>Media type</th><td>Solid-state drive, NVMe</td>",
                           "(CDW10)</th><td>0x4</td>", "(SCDW10)</th><td>0x4</td>",
                           "(SSTAT)</th><td>0x101</td>", "<th>Samples unchanged</th><td>0</td>",
                           "<th>Canaries found</th><td>0</td>", "NIST SP 800-88r2", "IEEE 2883"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  for (const char* text : {"Bytes zeroed", "Commands", "Adopted", "Capacity", "Places unreadable",
                           "Relaxed", "800-88r1"}) {
    EXPECT_THAT(page, Not(HasSubstr(text)));
  }
  EXPECT_THAT(
      page_of(R"({"id": "i", "method": "operator_steps", "vendor_id": "ffff"})"),
      ::testing::AllOf(HasSubstr("PCI device, no drive"), HasSubstr("<td>PCI vendor 0xffff"),
                       HasSubstr("no class of NIST SP 800-88r2")));
}

// The configuration's word is no drive's and no seal's.
TEST(CertificatePage, WhoIssuesItIsNamedAsNoPartOfTheSeal) {
  const auto document = json::parse(R"({"id": "i"})", 1'000);
  const std::string page = certificate_page(*document, {}, {"A & B", "<Ada>"});
  EXPECT_THAT(page, ::testing::AllOf(HasSubstr("it is not part of the seal"),
                                     HasSubstr("<td>A &amp; B</td>"),
                                     HasSubstr("<td>&lt;Ada&gt;</td>"), HasSubstr("Signature")));
  EXPECT_THAT(page_of(R"({"id": "i"})"), Not(HasSubstr("Signature</th>")));
}

TEST(CertificatePage, WhatADriveCallsItselfIsNotObeyed) {
  const std::string page =
      page_of(R"({"model": "<script>alert(1)</script>", "serial": "\" onload='x'&", "id": "i"})");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("&quot; onload=&#39;x&#39;&amp;"));
}

TEST(CertificatePage, FetchesNothing) {
  const std::string page = page_of(R"({"id": "i"})");
  for (const char* foreign : {"http:", "https:", "url(", "<link", "<img", "@import", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  }
}

// Whatever bytes there are: no tag but ours, and each that is opened is closed.
TEST(CertificatePage, RandomTextsKeepItWellFormed) {
  std::mt19937 random(test_seed());
  constexpr std::string_view kLetters = "<>&\"'/ab=;!-\x01\xc3\xa9\xff\\";
  const std::regex tag("</?([a-z0-9]+)[^<>]*?(/?)>");
  for (int i = 0; i < 50; ++i) {
    std::string text;
    for (int n = 0; n < 60; ++n) {
      text += kLetters[random() % kLetters.size()];
    }
    const std::string page = html_page(text, "<p>" + html_text(text) + "</p>");
    std::vector<std::string> open;
    for (std::sregex_iterator it(page.begin(), page.end(), tag), end; it != end; ++it) {
      const std::string whole = (*it)[0];
      if (!(*it)[2].str().empty()) continue;
      if (whole[1] != '/') {
        open.push_back((*it)[1]);
        continue;
      }
      ASSERT_FALSE(open.empty()) << page;
      ASSERT_EQ(open.back(), (*it)[1].str()) << page;
      open.pop_back();
    }
    EXPECT_TRUE(open.empty());
  }
}

}  // namespace
}  // namespace reclaim::cli
