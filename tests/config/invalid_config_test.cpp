// Tests the messages for invalid configs: place, key and remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "tests/config/config_text.h"
#include "tests/config/invalid_configs.h"

namespace spire {
namespace {

using testing::HasSubstr;

class InvalidConfig : public testing::TestWithParam<InvalidConfigCase> {};

TEST_P(InvalidConfig, SaysWhereAndWhat) {
  std::string message = message_of(GetParam().yaml, GetParam().overrides);
  for (const std::string& fragment : GetParam().fragments)
    EXPECT_THAT(message, HasSubstr(fragment));
}

std::string case_name(const testing::TestParamInfo<InvalidConfigCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(UnknownKeys, InvalidConfig, testing::ValuesIn(unknown_keys()), case_name);
INSTANTIATE_TEST_SUITE_P(WrongTypes, InvalidConfig, testing::ValuesIn(wrong_types()), case_name);
INSTANTIATE_TEST_SUITE_P(BadValues, InvalidConfig, testing::ValuesIn(bad_values()), case_name);
INSTANTIATE_TEST_SUITE_P(BadYaml, InvalidConfig, testing::ValuesIn(bad_yaml()), case_name);

TEST(InvalidConfigs, AllProblemsAreReportedAtOnce) {
  std::string message =
      message_of("epoch: 3\noptimizer: {lr: fast, momentum: 2}\nseed: 1\nseed: 2\n",
                 {"precision=int8", "modle.name=cnn"});
  EXPECT_EQ(
      message,
      "run.yaml:1:1: epoch: unknown key; did you mean 'epochs'?\nrun.yaml:2:17: optimizer.lr: "
      "expected a finite number, got 'fast'\nrun.yaml:2:33: optimizer.momentum: 2 is out of range; "
      "it must be in [0, 1)\nrun.yaml:4:1: seed: given twice, first in line 3; remove one of "
      "them\ncommand line: precision: unknown value 'int8'; must be one of: fp32, bf16, "
      "fp16, exact\ncommand line: modle.name: unknown key; did you mean 'model.name'?");
}

TEST(InvalidConfigs, EveryFileIsReadAfterAnInvalidOne) {
  try {
    parse_config({{"a.yaml", "model: {"}, {"b.yaml", "sead: 1"}}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.yaml:"));
    EXPECT_THAT(error.what(), HasSubstr("b.yaml:1:1: sead: unknown key; did you mean 'seed'?"));
  }
}

TEST(InvalidConfigs, ALongListOfProblemsIsCutOff) {
  std::string yaml;
  for (int i = 0; i < 5000; ++i) yaml += fmt::format("key{}: 1\n", i);
  std::string message = message_of(yaml, {});
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 200);
  EXPECT_THAT(message, HasSubstr("there are more problems; correct these first"));
}

// Tries every prefix of a text, and every character replaced by each that has a meaning in YAML.
TEST(InvalidConfigs, DamagedTextIsAConfigOrAnError) {
  const std::string whole =
      "model: {name: mlp, hidden: [64, 32]}\noptimizer:\n  lr: 0.5 # rate\ndevices: 2xcpu\n";
  int refused = 0;
  auto read = [&](const std::string& text) {
    try {
      parse_config({{"run.yaml", text}}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::config);
      EXPECT_THAT(error.what(), testing::StartsWith("run.yaml:"));
      ++refused;
    }
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    read(whole.substr(0, i));
    for (char c : std::string("\0\t\n:-[]{}&*!|>'\"%@`,?#\xff", 23)) {
      std::string damaged = whole;
      damaged[i] = c;
      read(damaged);
    }
  }
  EXPECT_GT(refused, 500);  // the others are still configs
}

TEST(InvalidConfigs, UnreadableFiles) {
  try {
    load_config({testing::TempDir(), "/nonexistent/run.yaml"}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is a folder; name a YAML file"));
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/run.yaml: cannot be read: No such file"));
  }
}

}  // namespace
}  // namespace spire
