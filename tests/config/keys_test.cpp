// Keys with rules of their own: optimizer.lr_factors, a map of patterns and factors, and freeze;
// those of the teacher; those of the weights that a run starts from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/config/check.h"
#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using Factors = std::vector<WeightFactor>;
using Names = std::vector<std::string>;

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
  EXPECT_EQ(factors_of("optimizer: {lr_factors: {a: 0}}").front().factor, 0);
  EXPECT_EQ(refusal("{a: -1}"), place + "the factor of 'a' is -1; it must be in [0, 1000000]");
  EXPECT_EQ(refusal("{a: 1, a: 2}"), place + "'a' is given twice; remove one of them");
  EXPECT_EQ(refusal("{a: much}"), place + "expected a finite number, got 'much'");
  EXPECT_EQ(refusal("{\"\": 1}"), place + "the value is empty; expected a word");
  EXPECT_EQ(refusal("[a]"), place +
                                "expected a map of patterns and factors, such as {\"stem.*\": "
                                "0.1}, got a list");
}

TEST(LrFactors, ThoseOfDecayMayBeZero) {
  RunConfig config = parse_config({}, {"optimizer.decay_factors={\"*.bias\": 0}"}).config;
  EXPECT_EQ(config.optimizer.decay_factors, (Factors{{"*.bias", 0}}));
  EXPECT_EQ(
      message_of(Category::config, [] { parse_config({}, {"optimizer.decay_factors={a: -1}"}); }),
      "command line: optimizer.decay_factors: the factor of 'a' is -1; it must be in [0, 1000000]");
}

// A host program may set what no file could.
TEST(LrFactors, OfAHostProgramAreChecked) {
  RunConfig config;
  config.optimizer.lr_factors = {{"a", -2}};
  EXPECT_THAT(message_of(Category::config, [&] { check_config(config); }),
              testing::HasSubstr("optimizer.lr_factors: the factor of 'a' is -2"));
}

DistillConfig distill_of(const std::vector<std::string>& words) {
  return parse_config({}, words).config.distill;
}

TEST(DistillKeys, AreReadAndChecked) {
  EXPECT_EQ(distill_of({}).from, "none");
  DistillConfig config = distill_of({"distill.from=runs/a", "distill.temperature=2.5",
                                     "distill.weight=1", "distill.hash=0123456789abcdef"});
  EXPECT_EQ(config.from, "runs/a");
  EXPECT_EQ(config.temperature, 2.5);
  EXPECT_EQ(config.weight, 1);
  EXPECT_EQ(config.hash, "0123456789abcdef");
  for (const char* wrong : {"distill.temperature=0", "distill.temperature=-1", "distill.weight=1.5",
                            "distill.weight=-0.1"})
    EXPECT_THROW(distill_of({"distill.from=runs/a", wrong}), Error) << wrong;
  EXPECT_THAT(message_of(Category::config,
                         [] {
                           distill_of({"distill.from=runs/a", "distill.hash=abc"});
                         }),
              testing::HasSubstr("'abc' is no hash of 16 hex digits"));
}

// A hash may look like a number.
TEST(DistillKeys, AHashIsReadBack) {
  for (const char* hash : {"1234567890123456", "12345678901234e5", "auto"}) {
    RunConfig config =
        parse_config({}, {"distill.from=runs/a", std::string("distill.hash=") + hash}).config;
    EXPECT_EQ(parse_config({{"config", to_yaml(config)}}, {}).config.distill.hash, hash);
  }
}

RunConfig parsed(const std::string& yaml) {
  return parse_config({{"run.yaml", yaml}}, {}).config;
}

TEST(InitKeys, AMapIsReadBack) {
  Names asked = {"module.:", "linear.weight:head.weight", "*.w:*.weight"};
  for (const char* text :
       {"init: {map: {module.: '', linear.weight: head.weight, '*.w': '*.weight'}}\n",
        "init:\n  map:\n    module.: \"\"\n    linear.weight: head.weight\n    \"*.w\": "
        "\"*.weight\"\n",
        "init: {map: ['module.:', linear.weight:head.weight, '*.w:*.weight']}\n"}) {
    RunConfig config = parsed(text);
    EXPECT_EQ(config.init.map, asked) << text;
    EXPECT_EQ(parsed(to_yaml(config)).init.map, asked) << to_yaml(config);
  }
  EXPECT_EQ(parse_config({}, {"init.map={a: b}"}).config.init.map, Names{"a:b"});
  EXPECT_EQ(parsed("init: {map: {}}\n").init.map, Names{});
}

TEST(InitKeys, Defaults) {
  InitConfig init = parsed("seed: 1\n").init;
  EXPECT_EQ(init.from, "none");
  EXPECT_EQ(init.names, WeightNames::automatic);
  EXPECT_TRUE(init.strict && init.map.empty() && init.skip.empty());
}

TEST(InitKeys, SayWhatIsWrong) {
  auto says = [](const std::string& yaml) {
    return message_of(Category::config, [&] { parsed(yaml); });
  };
  EXPECT_EQ(says("init: {map: [head]}\n"),
            "run.yaml:1:13: init.map: 'head' does not say what becomes of a name; write {their "
            "name: the name here}");
  EXPECT_EQ(says("init: {names: keras}\n"),
            "run.yaml:1:15: init.names: unknown value 'keras'; must be one of: auto, spire, "
            "pytorch, torchvision, huggingface");
  EXPECT_EQ(says("init: {map: {head: [a]}}\n"),
            "run.yaml:1:13: init.map: expected a word, got a list");
  EXPECT_EQ(says("model: {name: vit, epsilon: 2}\n"),
            "run.yaml:1:29: model.epsilon: 2 is out of range; it must be in [0, 1]");
}

}  // namespace
}  // namespace spire
