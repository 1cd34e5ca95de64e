#include "engine/inference/evaluation_samples.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/text/vocabulary.h"
#include "engine/inference/generate.h"
#include "engine/inference/sample_images.h"

namespace spire {
namespace {

constexpr int64_t text_tokens = 256;  // per sample
constexpr double text_temperature = 0.8;
constexpr int64_t samples_per_row = 4;

// Returns the columns of samples that are spread evenly over the dataset.
std::vector<std::vector<std::byte>> read_columns(const Dataset& test, int64_t count) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < count; ++i) samples.push_back(i * test.count() / count);
  SampleBuffer buffer;
  buffer.read(test, samples);
  return std::move(buffer.columns);
}

// Returns the first tokens of a sample, at most 32, as a prompt.
std::span<const int32_t> prompt_of(const std::byte* row, int64_t length) {
  return {reinterpret_cast<const int32_t*>(row),
          static_cast<size_t>(std::min<int64_t>(length, 32))};
}

// step_00001000.png or .txt, or one that was not written to its end
bool is_sample_file(std::string_view name) {
  constexpr std::string_view stem = "step_";
  size_t end = name.find_first_not_of("0123456789", stem.size());
  if (!name.starts_with(stem) || end == name.npos || end < stem.size() + 8) return false;
  std::string_view ending = name.substr(end);
  if (ending.ends_with(".tmp")) ending.remove_suffix(4);
  return ending == ".png" || ending == ".txt";
}

}  // namespace

EvaluationSamples::EvaluationSamples(const Dataset& test, Task task, int64_t count,
                                     std::filesystem::path folder)
    : spec_(test.spec()),
      task_(task),
      count_(std::min(count, test.count())),
      folder_(std::move(folder)),
      columns_(read_columns(test, count_)) {}

int64_t EvaluationSamples::rows(Task task, int64_t count) {
  if (has_sample_images(task)) return count;
  return task == Task::predict_tokens && count > 0 ? 1 : 0;
}

std::filesystem::path EvaluationSamples::write(int64_t step, ForwardPass& pass) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);  // writing the file reports an error
  auto path =
      folder_ / fmt::format("step_{:08d}.{}", step, has_sample_images(task_) ? "png" : "txt");
  if (has_sample_images(task_)) {
    write_png(path, images(pass));
  } else {
    write_file_atomically(path, text(pass), Category::data);
  }
  return path;
}

// Returns the images of all samples: of each the input, what the model made, and its target.
PngImage EvaluationSamples::images(ForwardPass& pass) const {
  std::vector<float> made(static_cast<size_t>(pass.output_shape().elements()));
  pass.run(columns_[0].data());
  pass.copy_output(made);
  const Column &input = spec_.columns[0], &target = target_column(spec_);
  auto target_index = static_cast<size_t>(&target - spec_.columns.data());
  size_t outputs = made.size() / static_cast<size_t>(count_);
  std::vector<PngImage> grid;
  for (size_t i = 0; i < static_cast<size_t>(count_); ++i)
    for (PngImage& image : sample_images(spec_, task_, columns_[0].data() + i * input.row_bytes(),
                                         std::span(made).subspan(i * outputs, outputs),
                                         columns_[target_index].data() + i * target.row_bytes()))
      grid.push_back(std::move(image));
  return grid_of(grid, samples_per_row * std::ssize(grid) / count_);
}

void EvaluationSamples::clear(const std::filesystem::path& folder) {
  std::error_code left;  // a file that cannot be removed is overwritten later
  for (const auto& name : list_folder(folder, Category::config))
    if (is_sample_file(name.string())) std::filesystem::remove(folder / name, left);
}

// Returns "> prompt" and its continuation for each sample; as ids where there is no vocabulary.
std::string EvaluationSamples::text(ForwardPass& pass) const {
  const Column& column = spec_.columns[0];
  int64_t length = column.shape[0];
  TextsPass tokens = window_pass(length, spec_.classes,
                                 [&](std::span<const int32_t> window, std::span<float> logits) {
                                   pass.run(window.data());
                                   pass.copy_output(logits);
                                 });
  auto vocabulary = spec_.vocabulary.empty() ? nullptr : make_vocabulary(spec_.vocabulary);
  std::string all;
  for (int64_t i = 0; i < count_; ++i) {
    auto prompt =
        prompt_of(columns_[0].data() + static_cast<size_t>(i) * column.row_bytes(), length);
    GenerateOptions options{
        {.temperature = text_temperature}, text_tokens, static_cast<uint64_t>(i)};
    auto ids = generate(tokens, prompt, options);
    all += vocabulary
               ? fmt::format("> {}\n{}\n\n", vocabulary->decode(prompt), vocabulary->decode(ids))
               : fmt::format("> {}\n{}\n\n", fmt::join(prompt, " "), fmt::join(ids, " "));
  }
  return all;
}

}  // namespace spire
