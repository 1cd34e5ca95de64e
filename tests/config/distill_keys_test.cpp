// Keys of the teacher that a run learns from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

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

}  // namespace
}  // namespace spire
