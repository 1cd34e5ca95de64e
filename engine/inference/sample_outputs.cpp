#include "engine/inference/sample_outputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/data/text/vocabulary.h"
#include "engine/inference/generate.h"

namespace spire {
namespace {

constexpr uint8_t white = 255;

// Returns the color of a class in PASCAL VOC: bits 0, 3 and 6 of its number are the upper bits of
// red, 1, 4 and 7 those of green, and 2 and 5 those of blue.
std::array<uint8_t, 3> color_of(int32_t label) {
  if (label < 0) return {white, white, white};
  std::array<uint8_t, 3> color{};
  for (int bit = 0; bit < 8; ++bit)
    color[static_cast<size_t>(bit % 3)] |=
        static_cast<uint8_t>((label >> bit & 1) << (7 - bit / 3));
  return color;
}

PngImage colored(std::span<const int32_t> classes, const Shape& shape) {
  PngImage image{shape[0], shape[1], 3, {}};
  for (int32_t label : classes)
    for (uint8_t part : color_of(label)) image.pixels.push_back(part);
  return image;
}

// Returns the first class of the largest logit of each pixel.
std::vector<int32_t> classes_of(std::span<const float> logits, int64_t classes) {
  auto width = static_cast<size_t>(classes);
  std::vector<int32_t> labels;
  for (; !logits.empty(); logits = logits.subspan(width))
    labels.push_back(
        static_cast<int32_t>(std::ranges::max_element(logits.first(width)) - logits.begin()));
  return labels;
}

// Gray becomes red, green and blue.
PngImage in_colors(PngImage image) {
  if (image.channels == 3) return image;
  PngImage colors{image.height, image.width, 3, {}};
  for (uint8_t value : image.pixels) colors.pixels.insert(colors.pixels.end(), 3, value);
  return colors;
}

// Targets of other channels than the images are from 0 to 1.
Normalization normalization_of(const SampleSpec& spec, int64_t channels) {
  bool same = std::ssize(spec.normalization.mean) == channels;
  return same ? spec.normalization : Normalization{};
}

}  // namespace

PngImage image_of(const SampleSpec& spec, const Column& column, const std::byte* row) {
  std::vector<float> values(static_cast<size_t>(column.shape.elements()));
  copy_floats(row, column.dtype, values);
  return to_png_image(values, column.shape, normalization_of(spec, column.shape.back()));
}

bool has_sample_images(Task task) {
  return task == Task::reconstruct || task == Task::segment;
}

const Column& target_column(const SampleSpec& spec) {
  for (const char* name : {"target_images", "masks"})
    if (const Column* target = spec.find(name)) return *target;
  return spec.columns.front();
}

PngImage result_image(const SampleSpec& spec, Task task, std::span<const float> outputs) {
  const Shape& shape = target_column(spec).shape;
  if (task == Task::reconstruct)
    return to_png_image(outputs, shape, normalization_of(spec, shape.back()));
  PngImage image{shape[0], shape[1], 1, {}};
  for (int32_t label : classes_of(outputs, spec.classes))
    image.pixels.push_back(static_cast<uint8_t>(label));
  return image;
}

std::vector<PngImage> sample_images(const SampleSpec& spec, Task task, const std::byte* input,
                                    std::span<const float> outputs, const std::byte* target) {
  const Column& goal = target_column(spec);
  bool masks = task == Task::segment;
  std::vector<PngImage> images = {image_of(spec, spec.columns[0], input)};
  images.push_back(masks ? colored(classes_of(outputs, spec.classes), goal.shape)
                         : result_image(spec, task, outputs));
  if (target != nullptr && &goal != &spec.columns.front())
    images.push_back(masks ? colored({reinterpret_cast<const int32_t*>(target),
                                      static_cast<size_t>(goal.shape.elements())},
                                     goal.shape)
                           : image_of(spec, goal, target));
  bool gray = std::ranges::all_of(images, [](const auto& each) { return each.channels == 1; });
  if (!gray) std::ranges::transform(images, images.begin(), in_colors);
  return images;
}

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
