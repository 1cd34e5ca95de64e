#include "engine/config/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr size_t gib = size_t{1} << 30;

std::string refusal_of(const std::function<void()>& action) {
  return message_if_any(Category::config, action);
}

TEST(MemoryLimit, ReadsBytesWithTheirUnit) {
  EXPECT_EQ(parse_memory_limit("20GiB").bytes, 20 * gib);
  EXPECT_EQ(parse_memory_limit("512MiB").bytes, gib / 2);
  EXPECT_EQ(parse_memory_limit("1.5 GiB").bytes, 3 * gib / 2);
  EXPECT_EQ(parse_memory_limit("100KiB").bytes, 102400u);
  EXPECT_EQ(parse_memory_limit("2TiB").bytes, 2048 * gib);
  EXPECT_EQ(parse_memory_limit("3kB").bytes, 3000u);
  EXPECT_EQ(parse_memory_limit("80GB").bytes, 80'000'000'000u);
  EXPECT_EQ(parse_memory_limit("7MB").bytes, 7'000'000u);
  EXPECT_EQ(parse_memory_limit("1TB").bytes, 1'000'000'000'000u);
  EXPECT_EQ(parse_memory_limit("4096B").bytes, 4096u);
}

TEST(MemoryLimit, ReadsFractionsAndAuto) {
  EXPECT_EQ(parse_memory_limit("0.8").fraction, 0.8);
  EXPECT_EQ(parse_memory_limit("1").fraction, 1.0);
  EXPECT_FALSE(parse_memory_limit("0.8").bytes);
  MemoryLimit all = parse_memory_limit("auto");
  EXPECT_FALSE(all.bytes || all.fraction);
}

TEST(MemoryLimit, OtherWordsAreRefused) {
  for (const char* text :
       {"", "much", "GiB", "20gib", "20 Gi", "20GiBs", "1.5.2GiB", "-1GiB", "-0.5", "0x10MiB"})
    EXPECT_NE(refusal_of([&] { parse_memory_limit(text); }), "") << text;
  for (const char* text : {"0", "0.0", "1.01", "20"})
    EXPECT_THAT(refusal_of([&] { parse_memory_limit(text); }), HasSubstr("not a fraction")) << text;
  for (const char* text : {"0GiB", "0.4B", "99999999TiB"})
    EXPECT_THAT(refusal_of([&] { parse_memory_limit(text); }), HasSubstr("not a possible amount"))
        << text;
  EXPECT_THAT(refusal_of([&] { parse_memory_limit("20GiBs"); }),
              HasSubstr("'20GiBs' does not end in a unit of bytes (KiB, MiB, "));
}

TEST(MemoryLimit, IsSharedByTheDevicesOnOne) {
  EXPECT_EQ(parse_memory_limit("20GiB").share(80 * gib, 1), 20 * gib);
  EXPECT_EQ(parse_memory_limit("20GiB").share(80 * gib, 2), 10 * gib);
  EXPECT_EQ(parse_memory_limit("0.5").share(80 * gib, 1), 40 * gib);
  EXPECT_EQ(parse_memory_limit("0.5").share(80 * gib, 4), 10 * gib);
  EXPECT_FALSE(parse_memory_limit("auto").share(80 * gib, 2));
}

TEST(MemoryLimit, IsAKeyOfTheConfig) {
  auto config = [](const std::string& limit) {
    return parse_config({{"run.yaml", "memory: {limit: " + limit + "}\n"}}, {}).config;
  };
  EXPECT_EQ(config("0.5").memory.limit, "0.5");
  EXPECT_EQ(config("20GiB").memory.limit, "20GiB");
  EXPECT_EQ(RunConfig().memory.limit, "auto");
  EXPECT_THAT(
      refusal_of([&] { config("20"); }),
      HasSubstr(
          "run.yaml:1:17: memory.limit: 20 has no unit of bytes and is not a fraction above 0"));
  EXPECT_THAT(config_help(), HasSubstr("memory.limit: auto"));
}

}  // namespace
}  // namespace spire
