// Keys of the weights that a run starts from, above all the map of names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using Names = std::vector<std::string>;

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
