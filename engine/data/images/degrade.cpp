#include "engine/data/images/degrade.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/base/random_numbers.h"
#include "engine/data/dataset.h"
#include "engine/data/sample_reading.h"

namespace spire {
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

class DegradedDataset : public DatasetOver {
 public:
  DegradedDataset(std::unique_ptr<Dataset> data, const DegradeConfig& config, uint64_t seed,
                  int64_t readers)
      : DatasetOver(std::move(data)),
        config_(config),
        seed_(seed),
        standardized_by_(spec_.normalization),
        enlarger_(config.scale, spec_.columns[0].shape[0], spec_.columns[0].shape[1],
                  config.upscale),
        scratch_(readers, [&] { return std::make_unique<Scratch>(spec_.columns[0].shape); }) {
    auto channels = at(spec_.columns[0].shape.back());
    standardized_by_.mean.resize(channels, 0);  // images that are not standardized stay as they are
    standardized_by_.stddev.resize(channels, 1);
    Column target = spec_.columns[0];
    target.name = "target_images";
    spec_.columns.insert(spec_.columns.begin() + 1, target);
  }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    data_->read(samples, epoch, columns.subspan(1));
    size_t bytes = spec_.columns[0].row_bytes();
    auto scratch = scratch_.borrow();
    for (size_t row = 0; row < samples.size(); ++row)
      degrade_row(columns[1] + row * bytes, epoch, samples[row], columns[0] + row * bytes,
                  *scratch);
  }

 private:
  struct Scratch {
    explicit Scratch(const Shape& shape)
        : image{shape[0], shape[1], shape[2], std::vector<float>(at(shape.elements()))},
          small(image),
          other(image.values) {}

    Pixels image, small;
    std::vector<float> other;  // noise, or what is between the axes of a larger image
  };

  // clean, out: rows of the columns.
  void degrade_row(const std::byte* clean, int64_t epoch, int64_t sample, std::byte* out,
                   Scratch& scratch) const {
    const Column& column = spec_.columns[0];
    Pixels& image = scratch.image;
    copy_floats(clean, column.dtype, image.values);
    const Normalization& by = standardized_by_;
    auto channels = static_cast<size_t>(image.channels);
    auto each = [&](auto&& change) {
      for (size_t i = 0; i < image.values.size(); ++i)
        image.values[i] = change(image.values[i], static_cast<float>(by.mean[i % channels]),
                                 static_cast<float>(by.stddev[i % channels]));
    };
    each([](float v, float mean, float stddev) { return v * stddev + mean; });
    if (config_.kind == Kind::downscale) {
      shrink(image, config_.scale, scratch.small);
      enlarger_.run(scratch.small, scratch.other, image);
    } else {
      add_noise(config_.noise, seed_, epoch, sample, scratch.other, image.values);
    }
    each([](float v, float mean, float stddev) { return (v - mean) / stddev; });
    with_any_float_type(column.dtype, [&](auto type) {
      using T = decltype(type);
      std::ranges::transform(image.values, reinterpret_cast<T*>(out),
                             [](float v) { return static_cast<T>(v); });
    });
  }

  DegradeConfig config_;
  uint64_t seed_;
  Normalization standardized_by_;
  Enlarger enlarger_;
  mutable ScratchPool<Scratch> scratch_;
};

}  // namespace

void add_noise(double stddev, uint64_t seed, int64_t epoch, int64_t sample, std::span<float> noise,
               std::span<float> values) {
  const RandomStream draws(seed, Purpose::degrade, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  normal_numbers(draws, 0, noise);
  auto factor = static_cast<float>(stddev);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::clamp(values[i] + factor * noise[i], 0.0f, 1.0f);
}

void shrink(const Pixels& image, int64_t scale, Pixels& small) {
  small.height = (image.height + scale - 1) / scale;
  small.width = (image.width + scale - 1) / scale;
  small.channels = image.channels;
  small.values.clear();
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
}

Enlarger::Axis::Axis(int64_t scale, int64_t to, Upscale by) {
  int64_t from = (to + scale - 1) / scale;
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

Enlarger::Enlarger(int64_t scale, int64_t height, int64_t width, Upscale by)
    : rows_(scale, height, by), columns_(scale, width, by) {}

void Enlarger::run(const Pixels& small, std::vector<float>& wide, Pixels& image) const {
  // Along x first, then along y in whole rows.
  int64_t height = std::ssize(rows_.pixels), width = std::ssize(columns_.pixels);
  int64_t channels = small.channels, row = width * channels;
  wide.assign(at(small.height * row), 0);
  for (int64_t y = 0; y < small.height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (size_t tap = 0; tap < 4; ++tap)
        for (int64_t c = 0; c < channels; ++c)
          wide[at(y * row + x * channels + c)] +=
              columns_.weights[at(x)][tap] *
              small.values[at((y * small.width + columns_.pixels[at(x)][tap]) * channels + c)];
  image.height = height, image.width = width, image.channels = channels;
  image.values.assign(at(height * row), 0);
  for (int64_t y = 0; y < height; ++y)
    for (size_t tap = 0; tap < 4; ++tap)
      for (int64_t i = 0; i < row; ++i)
        image.values[at(y * row + i)] +=
            rows_.weights[at(y)][tap] * wide[at(rows_.pixels[at(y)][tap] * row + i)];
  for (float& value : image.values) value = std::clamp(value, 0.0f, 1.0f);
}

DatasetPair degraded(DatasetPair data, const DegradeConfig& config, uint64_t seed,
                     int64_t readers) {
  const SampleSpec& spec = data.train->spec();
  if (spec.columns[0].name != "images")
    fail(Category::config, "data.degrade: needs images, but the data has {}; use kind: none",
         spec.columns[0].name);
  if (spec.find("target_images") != nullptr || spec.find("masks") != nullptr)
    fail(Category::config,
         "data.degrade: the data has a target for each image already; use kind: none");
  for (auto* split : {&data.train, &data.test, &data.val})
    if (*split)
      *split = std::make_unique<DegradedDataset>(std::move(*split), config, seed, readers);
  return data;
}

}  // namespace spire
