// Helpers of the trainer: keys, files, processes, and the progress line, on a clock that the test
// moves.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/spire.h>

#include "engine/config/devices.h"
#include "tests/base/message_of.h"
#include "tools/output/progress.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

TEST(FindKey, TakesWholeKeysLastPartsAndWordsOfOthers) {
  EXPECT_EQ(find_key("optimizer.momentum"), "optimizer.momentum");
  EXPECT_EQ(find_key("momentum"), "optimizer.momentum");
  EXPECT_EQ(find_key("learning_rate"), "optimizer.lr");
  EXPECT_EQ(find_key("no_such_word"), "");
}

TEST(Values, ParseWholly) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_duration("1h30m"), 5400);
  EXPECT_THAT(message_of(Category::config, [] { parse_integer("12x"); }), HasSubstr("12x"));
  EXPECT_THAT(message_of(Category::config, [] { parse_number("nan"); }), HasSubstr("nan"));
}

TEST(LocalRanks, TellEachProcessItsRank) {
  LocalRanks ranks(3), others(3);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto variables = ranks.variables(rank);
    std::map<std::string, std::string> values(variables.begin(), variables.end());
    Launch launch = read_launch([&](const std::string& name) -> std::optional<std::string> {
      auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    });
    EXPECT_EQ(launch.rank, rank);
    EXPECT_EQ(launch.size, 3);
    EXPECT_EQ(launch.master_address, "127.0.0.1");
    EXPECT_EQ(launch.secret.size(), 64u);
  }
  EXPECT_NE(ranks.variables(0), others.variables(0)) << "two runs must not meet";
  EXPECT_EQ(message_of(Category::config, [] { LocalRanks none(0); }),
            "processes: 0; a run has at least 1");
}

TEST(ProgressText, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_text({12'800, 60'000, "rows"}, 0, 4),
            "12 800/60 000 rows  21%  3 200 rows/s  eta 0:15");
  EXPECT_EQ(progress_text({1 << 20, 4 << 20, "bytes"}, 0, 2),
            "1.0 MiB/4.0 MiB  25%  512.0 KiB/s  eta 0:06");
}

TEST(ProgressText, CountsWhatWasDoneBeforeForNoRate) {
  EXPECT_EQ(progress_text({600, 1000, "rows"}, 500, 1),
            "600/1 000 rows  60%  100 rows/s  eta 0:04");
  EXPECT_EQ(progress_text({500, 1000, "rows"}, 500, 3), "500/1 000 rows  50%  0 rows/s  eta -");
}

class ProgressLineTest : public testing::Test {
 protected:
  ProgressLine line(bool interactive, bool quiet = false) {
    Terminal terminal{.interactive = interactive, .width = [] { return 20; }};
    return ProgressLine(out_, "converted", terminal, 10, quiet, [this] { return now_; });
  }
  steady_clock::time_point now_ = steady_clock::time_point(milliseconds(5));
  std::ostringstream out_;
};

TEST_F(ProgressLineTest, IsRewrittenOnATerminal) {
  {
    ProgressLine shown = line(true);
    shown.show({0, 100});
    now_ += milliseconds(50);
    shown.show({1, 100});  // too soon
    now_ += milliseconds(60);
    shown.show({2, 100});
    shown.show({100, 100});  // the end is always shown
  }
  EXPECT_EQ(out_.str(),
            "\r\x1b[Kconverted 0/100 row\r\x1b[Kconverted 2/100 row\r\x1b[Kconverted 100/100 r\n");
}

TEST_F(ProgressLineTest, IsALineNowAndThenInAFile) {
  {
    ProgressLine shown = line(false);
    shown.show({0, 100});
    now_ += std::chrono::seconds(9);
    shown.show({9, 100});
    now_ += std::chrono::seconds(1);
    shown.show({10, 100});
    shown.show({100, 100});
  }
  std::string text = out_.str();
  EXPECT_EQ(text.substr(text.find(' ') + 1), "converted 10/100 rows  10%  1 rows/s  eta 1:30\n");
}

TEST_F(ProgressLineTest, IsNothingWhenQuiet) {
  { line(true, true).show({1, 2}); }
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace spire
