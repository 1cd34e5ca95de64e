// What the model makes of a few samples, written during evaluations for people to look at: images
// beside those they were made from, or text that goes on from the test data.
#pragma once
#include <filesystem>

#include "engine/data/dataset.h"
#include "engine/train/forward_pass.h"
#include "models/model.h"

namespace spire::inline inference {

class EvaluationSamples {
 public:
  // Of `count` samples of the test data, spread evenly over it. Files go to `folder`, made when the
  // first is written.
  EvaluationSamples(const Dataset& test, Task task, int64_t count, std::filesystem::path folder);

  // Rows that write() needs a forward pass of; 0: the task has no such samples.
  static int64_t rows(Task task, int64_t count);

  // step_00001000.png, or step_00001000.txt. On the pass's lane, within an evaluation. Returns the
  // file. Throws Error when it cannot be written.
  std::filesystem::path write(int64_t step, ForwardPass& pass) const;

  // Removes from a folder the files that write() makes, and nothing else. Throws Error(config)
  // where it cannot be listed.
  static void clear(const std::filesystem::path& folder);

 private:
  std::string text(ForwardPass& pass) const;

  const SampleSpec& spec_;
  Task task_;
  int64_t count_;
  std::filesystem::path folder_;
  std::vector<std::byte> inputs_;  // `count` rows of the first column
};

}  // namespace spire::inline inference
