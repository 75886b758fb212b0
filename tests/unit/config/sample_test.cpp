// The sample file: it is what the schema says, and it is a configuration.
#include "config/oslo/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/settings.h"
#include "tests/source_path.h"

namespace reclaim::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSample = "config/reclaim.conf.sample";

TEST(Sample, TheShippedFileIsTheGeneratedOne) {
  std::ifstream file(source_path(kSample));
  std::istringstream generated(sample());
  int number = 0;
  std::string shipped;
  for (std::string line; std::getline(generated, line);) {
    ++number;
    ASSERT_TRUE(std::getline(file, shipped)) << "the shipped file ends before line " << number;
    ASSERT_EQ(shipped, line) << "line " << number << " differs, write the file anew with: "
                             << "reclaim config sample > " << kSample;
  }
  EXPECT_FALSE(std::getline(file, shipped)) << "the shipped file goes on after line " << number;
}

TEST(Sample, IsAConfigurationThatSetsNothing) {
  const IniFile file = parse_ini(sample(), "sample");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.entries, IsEmpty());
  const auto families =
      std::count_if(schema_groups().begin(), schema_groups().end(),
                    [](const OptionGroup& group) { return group.name.ends_with(':'); });
  EXPECT_EQ(file.sections.size() + static_cast<std::size_t>(families), schema_groups().size());
}

// Every commented default, uncommented, is accepted and changes nothing.
TEST(Sample, ItsDefaultsAreValid) {
  std::string text;
  std::istringstream lines(sample());
  bool named = false;  // a section of an operator's own, which has no defaults by itself
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[') || line.starts_with("#[")) named = line.starts_with("#[");
    const bool option = !named && line.size() > 1 && line[0] == '#' && line[1] != ' ' &&
                        line.find(" =") != line.npos;
    const bool unset = line.ends_with("<None>") || line.ends_with("=");
    text += option && !unset ? line.substr(1) : line;
    text += '\n';
  }
  const CheckedSettings checked =
      build_settings({{parse_ini(text, "sample"), false}}, "node-1", Purpose::tool);
  EXPECT_THAT(to_text(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.amqp.prefetch, Settings{}.amqp.prefetch);
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 100);
}

TEST(Sample, SaysWhatAnOperatorNeeds) {
  const std::string text = sample();
  EXPECT_THAT(text,
              HasSubstr("# Minimum value: 60\n# Maximum value: 604800\n#cleanup_timeout = 900\n"));
  EXPECT_THAT(text,
              HasSubstr("# Possible values: auto, error, resume\n#interrupted_cleaning = auto\n"));
  EXPECT_THAT(text, HasSubstr("# Secret.\n#password =\n"));
  EXPECT_THAT(text, HasSubstr("#host = <None>\n"));
  EXPECT_THAT(text, HasSubstr("older name: auth_plugin\n"));
  EXPECT_THAT(text, Not(HasSubstr("@auth")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 79U) << line;
}

}  // namespace
}  // namespace reclaim::config
