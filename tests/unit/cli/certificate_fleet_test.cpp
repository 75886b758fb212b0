// reclaim certificate list --all-hosts: what Redis has is shown, and what does not belong is named.
#include "cli/certificate_fleet.h"

#include <gmock/gmock.h>

#include <sstream>

#include "cli/certificate_list.h"
#include "state/ledger/audit.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

class FleetCertificates : public proof::ProofTest {
 protected:
  static std::string refusal(const std::string& host, const std::string& address,
                             const std::string& text) {
    const auto row = fleet_certificate(host, address, text);
    return row.ok() ? "none" : row.error().what;
  }
};

TEST_F(FleetCertificates, ARowHasItsHostFirst) {
  keep(2);
  const auto row = fleet_certificate("compute-1", "0000:c1:00.0", content(path_of(2)));
  ASSERT_TRUE(row.ok()) << row.error().what;
  const auto cells = certificate_row(true, "compute-1", row->sequence, row->certificate);
  EXPECT_EQ(cells.size(), certificate_table(true).columns.size());
  EXPECT_EQ(cells.at(0), Cell("compute-1"));
  EXPECT_EQ(cells.at(1), Cell(std::int64_t{2}));
  EXPECT_EQ(cells.at(5), Cell("S2"));
}

TEST_F(FleetCertificates, ItFitsATerminalOf80ColumnsWhateverItsHostIsCalled) {
  Certificate it = *decode_certificate(certificate_text(1));
  it.serial = "S6BUNE0RA00017ABCDEF";
  it.model = "SAMSUNG MZQL23T8HCLS-00A07";
  ASSERT_EQ(it.id.size(), 36U);
  for (const auto& [host, lost] :
       {std::pair{"compute-0017", "Serial, Sequence ("},
        std::pair{"compute-0017.cloud.example", "Sequence, Address ("}}) {
    Table table = certificate_table(true);
    table.rows.push_back(certificate_row(true, host, 100'017, it));
    View view;
    view.width = 80;
    const auto text = format_list(table, view);
    ASSERT_TRUE(text.ok()) << text.error().what;
    std::istringstream lines(*text);
    std::string all;
    for (std::string line; std::getline(lines, line); all += line + ' ') {
      EXPECT_LE(display_width(line), 80U) << line;
    }
    EXPECT_THAT(all, HasSubstr(lost));
    EXPECT_THAT(all, HasSubstr("show one with -c NAME)"));
  }
}

TEST_F(FleetCertificates, WhatAnotherPutThereIsNoRow) {
  keep(1);
  const std::string text = content(path_of(1));
  EXPECT_THAT(refusal("compute-2", "0000:c1:00.0", text),
              HasSubstr("0000:c1:00.0 of host compute-1"));
  EXPECT_THAT(refusal("compute-1", "0000:c2:00.0", text), HasSubstr("0000:c1:00.0"));
  EXPECT_THAT(refusal("compute-1", "0000:c1:00.0", "<script>"), HasSubstr("cannot be believed"));
  Certificate odd = *decode_certificate(certificate_text(2));
  odd.device_uuid = device_uuid("compute-2", *parse_pci_address("0000:c1:00.0"));
  const SigningKey key = key_named("any");
  const auto sealed = [&] { return *seal(key, 2, kNoPrevious, encode_certificate(odd)); };
  EXPECT_THAT(refusal("compute-1", "0000:c1:00.0", sealed()), HasSubstr(odd.device_uuid));
  odd = *decode_certificate(certificate_text(2));
  odd.id[0] = 'A';
  EXPECT_THAT(refusal("compute-1", "0000:c1:00.0", sealed()), HasSubstr("in lower case"));
  AuditEntry entry;
  entry.host = "compute-1";
  entry.at = WallMs{1'763'640'000'123};
  entry = identified(entry);
  const auto audit = chain().keep(entry.id, encode_audit(entry), SealedKind::audit);
  ASSERT_TRUE(audit.ok());
  EXPECT_THAT(refusal("compute-1", "0000:c1:00.0", *audit), HasSubstr("an audit entry"));
}

TEST_F(FleetCertificates, AnIdThatTwoHaveIsNamed) {
  Table table = certificate_table(true);
  const auto row = [](const std::string& host, const std::string& id) {
    std::vector<Cell> cells(certificate_table(true).columns.size(), Cell(""));
    cells[0] = host;
    cells[2] = id;
    cells[3] = "0000:c1:00.0";
    return cells;
  };
  table.rows = {row("compute-1", "a"), row("compute-2", "b"), row("compute-3", "a")};
  EXPECT_THAT(claimed_twice(table),
              ::testing::ElementsAre(HasSubstr("0000:c1:00.0 of host compute-1 and 0000:c1:00.0 of "
                                               "host compute-3 both have a certificate with the id "
                                               "a,")));
  table.rows.pop_back();
  EXPECT_THAT(claimed_twice(table), ::testing::IsEmpty());
}

}  // namespace
}  // namespace reclaim::cli
