// Steps read back from metrics.jsonl, whatever the file holds.
#include <cmath>

#include <gmock/gmock.h>

#include "engine/observe/json_lines.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

class StepRecords : public testing::Test {
 protected:
  std::map<int64_t, StepRecord> of(const std::string& text) const {
    return read_step_records(folder_.write("metrics.jsonl", text));
  }

  Folder folder_;
};

constexpr const char* good =
    "{\"step\":1,\"train/loss\":0.5,\"train/grad_norm\":2,\"train/parameter_hash\":\"ab\"}\n";
const StepRecord of_good{0.5, 2.0, "ab"};

TEST_F(StepRecords, LeaveOutLinesThatAreNone) {
  std::string text = good;
  text +=
      "rubbish\n[1]\n7\n\n"
      "{\"step\":\"2\",\"train/loss\":1}\n{\"step\":2.5,\"train/loss\":1}\n"
      "{\"step\":null,\"train/loss\":1}\n{\"step\":3}\n{\"train/loss\":1}\n"
      "{\"step\":4,\"train/lo";
  auto steps = of(text);
  EXPECT_EQ(steps, (std::map<int64_t, StepRecord>{{1, of_good}}));
}

TEST_F(StepRecords, LeaveOutValuesOfAWrongType) {
  auto steps =
      of("{\"step\":1,\"train/loss\":\"x\",\"train/grad_norm\":[2],\"train/parameter_hash\":5}\n"
         "{\"step\":2,\"train/loss\":null,\"train/parameter_hash\":null}\n");
  EXPECT_EQ(steps.at(1), StepRecord{});
  EXPECT_TRUE(std::isnan(steps.at(2).loss.value()));
  EXPECT_EQ(steps.at(2).parameter_hash, "");
}

TEST_F(StepRecords, GoOnBehindAPieceOfTheFile) {
  std::string text;
  int64_t lines = 0;
  for (; text.size() < (size_t{3} << 20); ++lines)  // several pieces
    text += "{\"step\":" + std::to_string(lines) + ",\"train/loss\":0.25}\n";
  auto steps = of(text);
  ASSERT_EQ(std::ssize(steps), lines);
  for (const auto& [step, record] : steps) EXPECT_EQ(record.loss, 0.25) << step;
}

TEST_F(StepRecords, RefuseNoFileAndTakeOneWithoutSteps) {
  EXPECT_TRUE(of("{\"step\":3}\n").empty());
  EXPECT_THAT(message_of(Category::config, [&] { read_step_records(folder_ / "none"); }),
              testing::HasSubstr("there is no such file"));
}

}  // namespace
}  // namespace spire
