// Writes a model's output for test samples: images beside their inputs, or text after a prompt.
#pragma once
#include <filesystem>

#include "engine/data/dataset.h"
#include "engine/train/forward_pass.h"
#include "models/model.h"

namespace spire::inline inference {

class EvaluationSamples {
 public:
  // Takes `count` samples, spread evenly over the test data. write() makes `folder`.
  EvaluationSamples(const Dataset& test, Task task, int64_t count, std::filesystem::path folder);

  // Batch size of the forward pass that write() needs; 0: the task has no samples.
  static int64_t rows(Task task, int64_t count);

  // Writes step_00001000.png or .txt and returns its path; throws Error. On the pass's lane only.
  std::filesystem::path write(int64_t step, ForwardPass& pass) const;

  // Removes the files that write() makes. Throws Error(config) where the folder cannot be listed.
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
