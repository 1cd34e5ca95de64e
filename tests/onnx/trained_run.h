// A run of two steps on made-up data, in a folder that is removed with it.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tools/program.h"
#include "tests/weights/made_tensors.h"

namespace spire {

struct TrainedRun {
  WorkFolder folder;

  explicit TrainedRun(const std::vector<std::string>& model) {
    std::vector<std::string> words = {"train",
                                      "data.name=synthetic",
                                      "data.synthetic.shape=[6,5,3]",
                                      "data.synthetic.samples=16",
                                      "data.synthetic.test_samples=4",
                                      "devices=cpu",
                                      "tower_threads=1",
                                      "batch_size=4",
                                      "steps=2",
                                      "eval.every_epochs=0",
                                      "output=" + folder / "run"};
    words.insert(words.end(), model.begin(), model.end());
    Output output = trainer(words);
    EXPECT_EQ(output.code, 0) << output.err;
  }
  std::string run() const { return folder / "run"; }
  std::string checkpoint() const { return run() + "/checkpoints/step_00000002.h5"; }
};

// What `trainer export` of the run to a file of its folder says.
inline Output exported(const TrainedRun& run, const std::string& to,
                       const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"export", "--checkpoint", run.run(), "--to", run.folder / to};
  words.insert(words.end(), more.begin(), more.end());
  return trainer(words);
}

}  // namespace spire
