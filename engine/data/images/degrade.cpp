#include "engine/data/images/degrade.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <spire/error.h>
#include <spire/random_stream.h>

#include "engine/base/random_numbers.h"

namespace spire::inline data {
namespace {

using Kind = DegradeConfig::Kind;
using Upscale = DegradeConfig::Upscale;

// Weights of the four pixels around a place that lies `t` behind the second of them.
std::array<float, 4> cubic_weights(double t) {
  auto near = [](double x) { return (1.5 * x - 2.5) * x * x + 1; };        // |x| <= 1
  auto far = [](double x) { return ((-0.5 * x + 2.5) * x - 4) * x + 2; };  // 1 <= |x| <= 2
  return {static_cast<float>(far(1 + t)), static_cast<float>(near(t)),
          static_cast<float>(near(1 - t)), static_cast<float>(far(2 - t))};
}

constexpr size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

// One axis of enlarge(): output pixel i is the sum of weights[i][tap] times pixel pixels[i][tap].
struct EnlargedAxis {
  std::vector<std::array<int64_t, 4>> pixels;
  std::vector<std::array<float, 4>> weights;

  EnlargedAxis(int64_t from, int64_t scale, int64_t to, Upscale by) {
    for (int64_t i = 0; i < to; ++i) {
      if (by == Upscale::nearest) {
        pixels.push_back({i / scale, 0, 0, 0});
        weights.push_back({1, 0, 0, 0});
        continue;
      }
      double place = (static_cast<double>(i) + 0.5) / static_cast<double>(scale) - 0.5;
      auto second = static_cast<int64_t>(std::floor(place));
      std::array<int64_t, 4> near{};
      for (int64_t tap = 0; tap < 4; ++tap)
        near[at(tap)] = std::clamp<int64_t>(second - 1 + tap, 0, from - 1);
      pixels.push_back(near);
      weights.push_back(cubic_weights(place - static_cast<double>(second)));
    }
  }
};

// Degrades the images of another dataset.
class DegradedDataset : public Dataset {
 public:
  DegradedDataset(std::unique_ptr<Dataset> data, const DegradeConfig& config, uint64_t seed)
      : data_(std::move(data)), config_(config), seed_(seed), spec_(data_->spec()) {
    Column target = spec_.columns[0];
    target.name = "target_images";
    spec_.columns.insert(spec_.columns.begin() + 1, target);
  }

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return data_->count(); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    data_->read(samples, epoch, columns.subspan(1));
    size_t bytes = spec_.columns[0].row_bytes();
    for (size_t row = 0; row < samples.size(); ++row)
      degrade_row(columns[1] + row * bytes, epoch, samples[row], columns[0] + row * bytes);
  }
  int64_t skipped() const override { return data_->skipped(); }
  std::vector<std::string> problems() const override { return data_->problems(); }
  int64_t chunk() const override { return data_->chunk(); }
  void read_labels(int64_t first, std::span<int32_t> out) const override {
    data_->read_labels(first, out);
  }
  void verify_files() const override { data_->verify_files(); }
  std::vector<std::string> layout() const override { return data_->layout(); }
  std::vector<std::filesystem::path> files() const override { return data_->files(); }

 private:
  // clean, out: rows of the columns.
  void degrade_row(const std::byte* clean, int64_t epoch, int64_t sample, std::byte* out) const {
    const Column& column = spec_.columns[0];
    thread_local Pixels image;  // noise keeps its memory for the next row
    image.height = column.shape[0], image.width = column.shape[1], image.channels = column.shape[2];
    image.values.resize(static_cast<size_t>(column.shape.elements()));
    copy_floats(clean, column.dtype, image.values);
    const Normalization& by = spec_.normalization;
    auto channels = static_cast<size_t>(image.channels);
    auto each = [&](auto&& change) {
      for (size_t i = 0; i < image.values.size(); ++i)
        image.values[i] = change(image.values[i], static_cast<float>(by.mean[i % channels]),
                                 static_cast<float>(by.stddev[i % channels]));
    };
    each([](float v, float mean, float stddev) { return v * stddev + mean; });
    image = changed(std::move(image), epoch, sample);
    each([](float v, float mean, float stddev) { return (v - mean) / stddev; });
    with_any_float_type(column.dtype, [&](auto type) {
      using T = decltype(type);
      std::ranges::transform(image.values, reinterpret_cast<T*>(out),
                             [](float v) { return static_cast<T>(v); });
    });
  }
  Pixels changed(Pixels image, int64_t epoch, int64_t sample) const {
    if (config_.kind == Kind::downscale)
      return enlarge(shrink(image, config_.scale), config_.scale, image.height, image.width,
                     config_.upscale);
    add_noise(config_.noise, seed_, epoch, sample, image.values);
    return image;
  }

  std::unique_ptr<Dataset> data_;
  DegradeConfig config_;
  uint64_t seed_;
  SampleSpec spec_;
};

}  // namespace

void add_noise(double stddev, uint64_t seed, int64_t epoch, int64_t sample,
               std::span<float> values) {
  const RandomStream draws(seed, Purpose::degrade, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  thread_local std::vector<float> noise;  // grows once a reader thread
  noise.resize(values.size());
  normal_numbers(draws, 0, noise);
  auto factor = static_cast<float>(stddev);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::clamp(values[i] + factor * noise[i], 0.0f, 1.0f);
}

Pixels shrink(const Pixels& image, int64_t scale) {
  Pixels small{
      (image.height + scale - 1) / scale, (image.width + scale - 1) / scale, image.channels, {}};
  small.values.reserve(static_cast<size_t>(small.height * small.width * small.channels));
  for (int64_t y = 0; y < image.height; y += scale)
    for (int64_t x = 0; x < image.width; x += scale)
      for (int64_t c = 0; c < image.channels; ++c) {
        int64_t bottom = std::min(y + scale, image.height),
                right = std::min(x + scale, image.width);
        float sum = 0;
        for (int64_t i = y; i < bottom; ++i)
          for (int64_t j = x; j < right; ++j)
            sum += image.values[static_cast<size_t>((i * image.width + j) * image.channels + c)];
        small.values.push_back(sum / static_cast<float>((bottom - y) * (right - x)));
      }
  return small;
}

Pixels enlarge(const Pixels& small, int64_t scale, int64_t height, int64_t width, Upscale by) {
  EnlargedAxis rows(small.height, scale, height, by), columns(small.width, scale, width, by);
  // Along x first, then along y in whole rows.
  int64_t channels = small.channels, row = width * channels;
  std::vector<float> wide(static_cast<size_t>(small.height * row));
  for (int64_t y = 0; y < small.height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (size_t tap = 0; tap < 4; ++tap)
        for (int64_t c = 0; c < channels; ++c)
          wide[at(y * row + x * channels + c)] +=
              columns.weights[at(x)][tap] *
              small.values[at((y * small.width + columns.pixels[at(x)][tap]) * channels + c)];
  Pixels image{height, width, channels, std::vector<float>(at(height * row))};
  for (int64_t y = 0; y < height; ++y)
    for (size_t tap = 0; tap < 4; ++tap)
      for (int64_t i = 0; i < row; ++i)
        image.values[at(y * row + i)] +=
            rows.weights[at(y)][tap] * wide[at(rows.pixels[at(y)][tap] * row + i)];
  for (float& value : image.values) value = std::clamp(value, 0.0f, 1.0f);
  return image;
}

DatasetPair degraded(DatasetPair data, const DegradeConfig& config, uint64_t seed) {
  const SampleSpec& spec = data.train->spec();
  if (spec.columns[0].name != "images")
    fail(Category::config, "data.degrade: needs images, but the data has {}; use kind: none",
         spec.columns[0].name);
  if (spec.find("target_images") != nullptr || spec.find("masks") != nullptr)
    fail(Category::config,
         "data.degrade: the data has a target for each image already; use kind: none");
  for (auto* split : {&data.train, &data.test})
    *split = std::make_unique<DegradedDataset>(std::move(*split), config, seed);
  return data;
}

}  // namespace spire::inline data
