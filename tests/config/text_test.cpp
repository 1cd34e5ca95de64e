#include "engine/config/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::HasSubstr;

// Compares every field of the table.
void expect_equal(RunConfig a, RunConfig b) {
  for (const Field& field : schema()) {
    std::visit(
        [&](auto value) {
          auto other = std::get<decltype(value)>(field.slot(b));
          if constexpr (std::is_same_v<decltype(value), EnumSlot>) {
            EXPECT_EQ(value.index(), other.index()) << field.path;
          } else {
            EXPECT_EQ(*value, *other) << field.path;
          }
        },
        field.slot(a));
  }
}

RunConfig reread(const RunConfig& config) {
  return parse_config({{"echo", to_yaml(config)}}, {}).config;
}

TEST(ConfigText, DefaultsReadBack) {
  expect_equal(reread(RunConfig()), RunConfig());
}

TEST(ConfigText, EveryTypeReadsBack) {
  RunConfig config;
  config.model.hidden = {512, 256, 1};
  config.towers = 8;
  config.global_batch = 1024;
  config.devices = {"cpu:0", "cpu:1"};
  config.optimizer.lr = 0.1 + 0.2;  // 0.30000000000000004: all digits count
  config.optimizer.epsilon = 5e-324 * 1e16;
  config.optimizer.nesterov = true;
  config.seed = UINT64_MAX;
  config.steps = 1000000000000;
  expect_equal(reread(config), config);
}

// Reading the text again adds no warnings.
TEST(ConfigText, LeavesOutUnusedKeysWithDefaults) {
  ResolvedConfig resolved = parse_config({{"run.yaml", "optimizer: {epsilon: 0.5}\n"}}, {});
  std::string text = to_yaml(resolved.config);
  EXPECT_THAT(text, HasSubstr("  epsilon: 0.5\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("beta1")));
  EXPECT_THAT(text, HasSubstr("  momentum: 0.9\n"));
  EXPECT_EQ(parse_config({{"echo", text}}, {}).warnings.size(), resolved.warnings.size());
  RunConfig adam;
  adam.optimizer.name = OptimizerConfig::Name::adam;
  EXPECT_THAT(to_yaml(adam), HasSubstr("  beta1: 0.9\n"));
  EXPECT_THAT(to_yaml(adam), testing::Not(HasSubstr("momentum")));
  EXPECT_TRUE(parse_config({{"echo", to_yaml(adam)}}, {}).warnings.empty());
}

// Such a key is written with its sections, though other keys there are left out.
TEST(ConfigText, UnusedKeysThatWereGivenReadBack) {
  for (const std::string key : {"data.hdf5.train.input", "data.csv.target"}) {
    ResolvedConfig resolved = parse_config({}, {key + "=x"});
    std::string text = to_yaml(resolved.config);
    EXPECT_THAT(text, testing::Not(HasSubstr("cache_mib")));
    ResolvedConfig again = parse_config({{"echo", text}}, {});
    EXPECT_EQ(value_text(*find_field(key), again.config), "x");
    EXPECT_EQ(to_yaml(again.config), text);
  }
  RunConfig jitter;
  jitter.data.name = "csv";
  jitter.data.augment.color_jitter.contrast = 0.5;
  expect_equal(reread(jitter), jitter);
}

TEST(ConfigText, PathsWithYamlCharactersReadBack) {
  for (const std::string path : {"runs/a b",
                                 "null",
                                 "./~",
                                 "true",
                                 "5",
                                 "- x",
                                 "a: b",
                                 "a #b",
                                 "\"q\"",
                                 "it's",
                                 "back\\slash",
                                 "tab\tnew\nline",
                                 "\xC3\xA9t\xC3\xA9",
                                 "*a",
                                 "&a",
                                 "{x}",
                                 "%d",
                                 "@",
                                 "!t",
                                 "a,b",
                                 "..."}) {
    RunConfig config;
    config.output = path;
    config.data.tokens.text = {path};
    expect_equal(reread(config), config);
    config.data.tokens.text = {"x.txt", path, "cpu:0"};
    expect_equal(reread(config), config);
  }
}

TEST(ConfigText, BatchSizeThatFollowsFromTheDeviceCountIsNull) {
  RunConfig config = parse_config({{"run.yaml", "global_batch: 256\n"}}, {}).config;
  RunConfig again = reread(config);
  EXPECT_FALSE(again.towers.has_value());
  EXPECT_EQ(again.global_batch, 256);
}

TEST(ConfigText, AnnotatedTextNamesTheSourceOfEachValue) {
  ResolvedConfig resolved = parse_config({{"run.yaml", "optimizer:\n  lr: 0.5\n"}}, {"seed=3"});
  std::string text = to_annotated_yaml(resolved);
  EXPECT_THAT(text, testing::ContainsRegex("  lr: 0.5 +# run.yaml:2:3\n"));
  EXPECT_THAT(text, testing::ContainsRegex("seed: 3 +# command line\n"));
  EXPECT_THAT(text, testing::ContainsRegex("towers: null +# default: the number of devices\n"));
  expect_equal(parse_config({{"printed", text}}, {}).config, resolved.config);
}

TEST(ConfigText, SectionsAreOpenedOnce) {
  std::string text = to_yaml(RunConfig());
  for (const std::string section :
       {"model:\n", "data:\n", "  augment:\n", "optimizer:\n", "log:\n"}) {
    size_t first = text.find(section);
    EXPECT_NE(first, text.npos) << section;
    EXPECT_EQ(text.find("\n" + section, first + 1), text.npos) << section;
  }
}

TEST(ConfigHelp, HoldsEveryKeyWithItsMeaningAndBounds) {
  std::string text = config_help();
  for (const Field& field : schema()) {
    EXPECT_THAT(text, HasSubstr("\n" + field.path + ": "));
    EXPECT_THAT(text, HasSubstr(field.help));
    EXPECT_THAT(text, HasSubstr(field.range.text()));
  }
  EXPECT_THAT(text, HasSubstr("sgd | adam | adamw"));
  EXPECT_THAT(text, HasSubstr("null: the number of devices"));
  EXPECT_THAT(text,
              HasSubstr("mean of the gradients; only with optimizer.name adam, adamw, lamb\n"));
}

TEST(Schema, ConditionsNameExistingWords) {
  for (const Field& field : schema()) {
    if (field.used_by.key.empty()) continue;
    const Field* user = find_field(field.used_by.key);
    ASSERT_NE(user, nullptr) << field.path;
    EXPECT_FALSE(field.used_by.words.empty()) << field.path;
    if (field.used_by.holds) continue;
    for (const std::string& word : field.used_by.words)
      EXPECT_EQ(std::count(user->choices.begin(), user->choices.end(), word), 1)
          << field.path << " " << word;
  }
}

TEST(Schema, EveryFieldIsComplete) {
  std::vector<std::string> paths;
  RunConfig config;
  for (const Field& field : schema()) {
    EXPECT_FALSE(field.help.empty()) << field.path;
    EXPECT_EQ(std::count(paths.begin(), paths.end(), field.path), 0) << field.path;
    EXPECT_FALSE(is_section(field.path)) << field.path;
    paths.push_back(field.path);
    bool number = !std::holds_alternative<std::string*>(field.slot(config)) &&
                  !std::holds_alternative<EnumSlot>(field.slot(config)) &&
                  !std::holds_alternative<std::vector<std::string>*>(field.slot(config)) &&
                  !std::holds_alternative<bool*>(field.slot(config)) &&
                  !std::holds_alternative<std::vector<LayerConfig>*>(field.slot(config)) &&
                  !std::holds_alternative<uint64_t*>(field.slot(config));
    EXPECT_EQ(number, !field.range.text().empty()) << field.path << " has bounds if it is a number";
  }
}

}  // namespace
}  // namespace spire
