// Tests the words of other programs that messages translate.
#include "engine/config/synonyms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/layer_types.h"
#include "engine/config/schema.h"
#include "tests/config/config_text.h"

namespace spire {
namespace {

using testing::HasSubstr;

bool is_ours(const Synonym& each) {
  std::string ours(each.ours);
  auto has = [&](const std::vector<std::string>& words) {
    return std::ranges::count(words, ours) > 0;
  };
  if (each.group == SynonymGroup::keys) return find_field(ours) != nullptr;
  if (each.group == SynonymGroup::layers) return find_layer_type(ours) != nullptr;
  if (each.group == SynonymGroup::values)
    return std::ranges::any_of(schema(), [&](const Field& field) { return has(field.choices); });
  return std::ranges::any_of(
      layer_types(), [&](const LayerType& type) { return find_layer_key(type, ours) != nullptr; });
}

// A layer or a key that is Spire's, too, would never be looked up.
TEST(Synonyms, LeadFromOtherWordsToOurs) {
  for (const Synonym& each : synonyms()) {
    SCOPED_TRACE(std::string(each.theirs));
    EXPECT_TRUE(is_ours(each)) << each.ours;
    if (each.group == SynonymGroup::layers || each.group == SynonymGroup::keys) {
      EXPECT_FALSE(is_ours({each.group, "", each.theirs}));
    }
  }
}

TEST(Synonyms, IgnoreCaseUnderscoresAndDashes) {
  std::vector<std::string> keys = {"channels", "kernel"};
  EXPECT_EQ(our_word(SynonymGroup::layer_keys, "KernelSize", keys), "kernel");
  EXPECT_EQ(our_word(SynonymGroup::layer_keys, "kernel-size", keys), "kernel");
  EXPECT_EQ(our_word(SynonymGroup::layer_keys, "kernel_size", {"channels"}), "");
  EXPECT_EQ(meant_word(SynonymGroup::layers, "LeakyReLU", {"relu", "leaky_relu"}), "leaky_relu");
  EXPECT_EQ(meant_word(SynonymGroup::layers, "cnov2d", {"conv2d"}), "conv2d");
  EXPECT_EQ(our_word(SynonymGroup::keys, std::string(1 << 20, 'x'), {"epochs"}), "");
}

// The first row whose word the layer has.
TEST(Synonyms, MayHaveSeveralMeanings) {
  EXPECT_EQ(our_word(SynonymGroup::layer_keys, "output_dim", {"units"}), "units");
  EXPECT_EQ(our_word(SynonymGroup::layer_keys, "output_dim", {"width"}), "width");
}

TEST(Synonyms, AreInTheMessagesOfAConfig) {
  EXPECT_EQ(message_of("learning_rate: 0.1\n"),
            "run.yaml:1:1: learning_rate: unknown key; did you mean 'optimizer.lr'?");
  EXPECT_EQ(message_of("optimizer: {learning_rate: 0.1}\n"),
            "run.yaml:1:13: optimizer.learning_rate: unknown key; did you mean 'optimizer.lr'?");
  EXPECT_EQ(message_of("batch: 3\n"),
            "run.yaml:1:1: batch: unknown key; did you mean 'batch_size'?");
  EXPECT_THAT(message_of("precision: float16\n"), HasSubstr("did you mean 'fp16'?"));
  EXPECT_THAT(message_of("loss: {name: CategoricalCrossentropy}\n"),
              HasSubstr("did you mean 'cross_entropy'?"));
}

}  // namespace
}  // namespace spire
