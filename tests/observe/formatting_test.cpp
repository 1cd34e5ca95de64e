#include "engine/observe/formatting.h"

#include <limits>

#include <gmock/gmock.h>

namespace spire {
namespace {

TEST(Units, Golden) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1 000");
  EXPECT_EQ(count_text(-123456), "-123 456");
  EXPECT_EQ(count_text(1234567), "1 234 567");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(duration_text(0.4), "0:00");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3661), "1:01:01");
  EXPECT_EQ(duration_text(100 * 3600), "100:00:00");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(loss_text(0.1), "0.1000");
  EXPECT_EQ(loss_text(12.345), "12.35");
  EXPECT_EQ(loss_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(loss_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(utc_text(std::chrono::system_clock::from_time_t(1769860800)), "2026-01-31T12:00:00Z");
}

TEST(TextTable, AlignsByCharactersNotBytes) {
  EXPECT_EQ(aligned_text({{"a", "b"}, {"cc", ""}}), "a   b\ncc\n");
  EXPECT_EQ(aligned_text({}), "");
  EXPECT_EQ(aligned_text({{"a\n\x1b", "b"}}), "a\\x0a\\x1b  b\n");
  EXPECT_THAT(aligned({{"a×", "b"}, {"long", "c", "d"}, {}}),
              ::testing::ElementsAre("a×    b", "long  c  d", ""));
}

}  // namespace
}  // namespace spire
