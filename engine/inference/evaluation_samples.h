// Writes a model's output for some test samples: images of inputs, outputs and targets, or text
// after a prompt.
#pragma once
#include <filesystem>

#include "engine/data/dataset.h"
#include "engine/data/images/png.h"
#include "engine/train/forward_pass.h"
#include "models/model.h"

namespace spire {

class EvaluationSamples {
 public:
  // Reads `count` samples (all, if there are fewer), spread evenly over the test data, which
  // outlives this. write() makes `folder` if needed.
  EvaluationSamples(const Dataset& test, Task task, int64_t count, std::filesystem::path folder);

  // Returns the batch size of the pass that write() needs; 0 if the task has no such output.
  static int64_t rows(Task task, int64_t count);

  // Writes step_00001000.png or .txt, returns its path; throws Error. Call it on the pass's lane.
  std::filesystem::path write(int64_t step, ForwardPass& pass) const;

  // Removes all files that write() has made. Throws Error(config) if the folder cannot be listed.
  static void clear(const std::filesystem::path& folder);

 private:
  PngImage images(ForwardPass& pass) const;
  std::string text(ForwardPass& pass) const;

  const SampleSpec& spec_;
  Task task_;
  int64_t count_;
  std::filesystem::path folder_;
  std::vector<std::vector<std::byte>> columns_;  // `count` rows each; the first is the input
};

}  // namespace spire
