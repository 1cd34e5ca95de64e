// Shows a model's output for some samples: images of inputs, outputs and targets, or text after a
// prompt, and their files for test samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/images/png.h"
#include "engine/data/sample.h"
#include "engine/train/forward_pass.h"
#include "models/model.h"

namespace spire {

// Images that show a sample and the model's output, for models whose output is an image or a class
// for each pixel.

bool has_sample_images(Task task);  // whether the functions below are for this task

// The column that outputs are compared with: target_images, masks, or else the images themselves.
const Column& target_column(const SampleSpec& spec);

// Returns a row of a column of images as an image.
PngImage image_of(const SampleSpec& spec, const Column& column, const std::byte* row);

// Returns the model's output alone. outputs: an image (H, W, C), or logits (H, W, classes), which
// become a gray image: each pixel is the number of the class with the largest logit.
PngImage result_image(const SampleSpec& spec, Task task, std::span<const float> outputs);

// Returns images of one height, width and number of channels, to be shown side by side: the input,
// the model's output, and the target, if it is given and is not the input itself. input, target:
// rows of their columns. Classes have the colors of PASCAL VOC; pixels without a class are white.
std::vector<PngImage> sample_images(const SampleSpec& spec, Task task, const std::byte* input,
                                    std::span<const float> outputs,
                                    const std::byte* target = nullptr);

// Writes a model's output for some test samples: images of inputs, outputs and targets, or text
// after a prompt.
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
