// Tests optimizer.lr_factors, a map of patterns and factors, and freeze.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/config/check.h"
#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using Factors = std::vector<LrFactor>;

Factors factors_of(const std::string& yaml) {
  return parse_config({{"run.yaml", yaml}}, {}).config.optimizer.lr_factors;
}

TEST(LrFactors, AreReadInTheOrderOfTheFile) {
  Factors expected = {{"stem.*", 0.1}, {"*.bias", 2}, {"*", 1e-3}};
  EXPECT_EQ(factors_of("optimizer:\n  lr_factors:\n    stem.*: 0.1\n    \"*.bias\": 2\n"
                       "    '*': 1e-3\n"),
            expected);
  EXPECT_EQ(parse_config({}, {"optimizer.lr_factors={stem.*: 0.1, \"*.bias\": 2, \"*\": 1e-3}"})
                .config.optimizer.lr_factors,
            expected);
  EXPECT_TRUE(factors_of("optimizer: {lr_factors: {}}\n").empty());
}

// What a run writes into its directory reads back as the same.
TEST(LrFactors, SurviveTheTextOfAConfig) {
  RunConfig config;
  config.optimizer.lr_factors = {{"stem.*", 0.1}, {"[ab]?\"\\", 2}};
  config.freeze = {"*.bias", "a: b"};
  config.freeze_batch_norm = false;
  RunConfig again = parse_config({{"run.yaml", to_yaml(config)}}, {}).config;
  EXPECT_EQ(again.optimizer.lr_factors, config.optimizer.lr_factors);
  EXPECT_EQ(again.freeze, config.freeze);
  EXPECT_FALSE(again.freeze_batch_norm);
}

TEST(LrFactors, RefuseWhatIsNoRate) {
  auto refusal = [](const std::string& map) {
    return message_of(Category::config,
                      [&] { factors_of("optimizer: {lr_factors: " + map + "}"); });
  };
  std::string place = "run.yaml:1:25: optimizer.lr_factors: ";
  EXPECT_EQ(refusal("{a: 0}"),
            place +
                "the factor of 'a' is 0; it must be in [1e-06, 1000000] (freeze keeps "
                "parameters as they are)");
  EXPECT_EQ(refusal("{a: -1}"), place + "the factor of 'a' is -1; it must be in [1e-06, 1000000]");
  EXPECT_EQ(refusal("{a: 1, a: 2}"), place + "'a' is given twice; remove one of them");
  EXPECT_EQ(refusal("{a: much}"), place + "expected a finite number, got 'much'");
  EXPECT_EQ(refusal("{\"\": 1}"), place + "the value is empty; expected a word");
  EXPECT_EQ(refusal("[a]"), place +
                                "expected a map of patterns and factors, such as {\"stem.*\": "
                                "0.1}, got a list");
}

// A host program may set what no file could.
TEST(LrFactors, OfAHostProgramAreChecked) {
  RunConfig config;
  config.optimizer.lr_factors = {{"a", -2}};
  EXPECT_THAT(message_of(Category::config, [&] { check_config(config); }),
              testing::HasSubstr("optimizer.lr_factors: the factor of 'a' is -2"));
}

}  // namespace
}  // namespace spire
