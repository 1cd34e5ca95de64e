#include "engine/base/name_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(NamePatterns, MatchAsInAShell) {
  EXPECT_TRUE(matches("layer1.*", "layer1.0.conv1.weight"));
  EXPECT_TRUE(matches("*.bias", "head.bias"));
  EXPECT_TRUE(matches("block?.gamma", "block1.gamma"));
  EXPECT_TRUE(matches("block[12].gamma", "block2.gamma"));
  EXPECT_TRUE(matches("a\\*", "a*"));
  EXPECT_FALSE(matches("layer1", "layer1.weight"));
  EXPECT_FALSE(matches("layer1.*", "layer10.weight"));
  EXPECT_FALSE(matches("block[12].gamma", "block3.gamma"));
}

TEST(NamePatterns, TheFirstThatMatchesCounts) {
  std::vector<std::string> patterns = {"head.*", "*.weight", "*"};
  EXPECT_EQ(first_match(patterns, "head.weight"), 0u);
  EXPECT_EQ(first_match(patterns, "stem.weight"), 1u);
  EXPECT_EQ(first_match(patterns, "stem.bias"), 2u);
  EXPECT_EQ(first_match({"head.*"}, "stem.bias"), std::nullopt);
}

TEST(NamePatterns, OneThatMatchesNothingIsAnError) {
  std::vector<std::string> names = {"stem.weight", "head.weight"};
  EXPECT_NO_THROW(require_matches("freeze", {"stem.*", "*weight"}, names));
  std::string message = message_of(Category::config, [&] {
    require_matches("freeze", {"stem.*", "haed.weight"}, names);
  });
  EXPECT_THAT(message,
              HasSubstr("freeze: 'haed.weight' matches none of 'stem.weight', 'head.weight'"));
  EXPECT_THAT(message, HasSubstr("did you mean 'head.weight'?"));
}

TEST(NamePatterns, AMessageListsAllNamesOrThoseMostLikeThePattern) {
  std::vector<std::string> names;
  auto message = [&] {
    return message_of(Category::config, [&] { require_matches("init.skip", {"fc.*"}, names); });
  };
  for (int i = 0; i < 32; ++i) names.push_back("block" + std::to_string(i) + ".w");
  for (const std::string& name : names) EXPECT_THAT(message(), HasSubstr("'" + name + "'"));
  names.push_back("model.fc.w");
  EXPECT_THAT(message(), HasSubstr("init.skip: 'fc.*' matches none of 33 names, such as "
                                   "'model.fc.w', 'block0.w', 'block1.w'"));
}

}  // namespace
}  // namespace spire
