// Runs on emulated GPUs: each gives back all memory, streams, events and graphs, and a batch that
// runs out of memory when it is tried is halved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/emulation/devices.h>

#include "tests/base/folder.h"
#include "tests/run/recorder.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

class EmulationTrainers : public ::testing::Test {
 protected:
  ~EmulationTrainers() override { emulation::set_pinned_limit(SIZE_MAX); }

  RunResult run(const std::vector<std::string>& more, Observer& observer) const {
    std::vector<std::string> words = {"data.name=synthetic",
                                      "data.synthetic.kind=features",
                                      "data.synthetic.shape=[16]",
                                      "data.synthetic.samples=4000",
                                      "data.synthetic.test_samples=40",
                                      "model.name=mlp",
                                      "model.hidden=[16]",
                                      "steps=3",
                                      "cuda.autotune_cache=none",
                                      "output=" + folder_.path().string()};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.overwrite = true;
    return train(parse_config({}, words).config, options, observer);
  }

  Folder folder_;
};

TEST_F(EmulationTrainers, GiveEverythingBack) {
  auto round = [&] {
    Observer silent;
    run({"devices=[cuda:0, cuda:1]", "towers=4", "strategy=sharded"}, silent);
    SmallRun small;
    small.devices = {"cuda:0", "cuda:0"};
    TowerTrainer trainer(small.options(), small.place());
    run_steps(trainer, small, 0, 3);
    EXPECT_GT(emulation::books().graphs, 0u);
  };
  round();
  emulation::Books first = emulation::books();
  EXPECT_EQ(first.graphs, 0u);
  for (int i = 0; i < 3; ++i) round();
  EXPECT_EQ(emulation::books(), first);
}

TEST_F(EmulationTrainers, HalveABatchThatRunsOutOfMemoryWhenItIsTried) {
  Recorder free;
  run({"devices=cuda:0", "batch_size=auto"}, free);
  EXPECT_EQ(free.start.batch_size, 80);  // 4000 / 80 = 50 steps
  // Plans do not count the host's memory, in which batches are pinned: 3 ahead and 2 in use for
  // training, 3 and 1 for evaluation. There is room for these with 60 samples.
  constexpr size_t row = 16 * 4 + 4, batches = 9;
  emulation::set_pinned_limit(emulation::pinned_memory() + batches * 60 * row);
  Recorder tight;
  // Without measurements, of which each run makes its own.
  std::vector<std::string> words = {"devices=cuda:0", "batch_size=auto", "cuda.autotune=false"};
  std::string hash = run(words, tight).summary.parameter_hash;
  emulation::set_pinned_limit(SIZE_MAX);
  EXPECT_EQ(tight.start.batch_size, 40);
  ASSERT_FALSE(tight.notes.empty());
  EXPECT_THAT(tight.notes[0], HasSubstr("batch_size 80 is too large: "));
  EXPECT_THAT(tight.start.batch_note, HasSubstr("a larger one ran out of memory"));
  Recorder named;
  words[1] = "batch_size=40";
  EXPECT_EQ(run(words, named).summary.parameter_hash, hash);
}

}  // namespace
}  // namespace spire
