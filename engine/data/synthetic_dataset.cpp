// Makes samples of random numbers, without files. Sample i is a function of (seed, i); the test set
// continues the training set.
//   images (H, W, C), features (F) and labels: uniform noise of deviation 0.8 around +0.6 or -0.6,
//     block by block: each label has its own pattern over 8 x 8 blocks (features: 64), drawn from
//     the seed. Mean 0, deviation 1; a model can learn the patterns.
//   tokens (T) and targets (T): windows of one long sequence, in which 3 of 4 tokens are followed
//     by their fixed successor, the others by any token.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "engine/data/dataset_table.h"

namespace spire {
namespace {

// Random numbers are drawn once, into strips `max_offset` longer than a row; a sample is a copy
// from a random offset on. So reading costs no more than copying.
constexpr int64_t max_offset = 4096;
constexpr int64_t max_strip = int64_t{1} << 28;  // elements of a row
constexpr int64_t max_blocks = 8;                // along an axis of an image; 64 in all

// Subject of a RandomStream, its key `a`.
enum SyntheticPart : uint64_t { noise, patterns, samples, successors, sequence };

RandomStream stream_of(uint64_t seed, SyntheticPart part, int64_t b = 0) {
  return {seed, Purpose::synthetic, part, static_cast<uint64_t>(b)};
}

class SyntheticImages : public Dataset {
 public:
  // first: index of sample 0 among training and test samples. shape (H, W, C); features: (1, F, 1).
  SyntheticImages(const SyntheticConfig& config, const Shape& shape, const ReadOptions& options,
                  int64_t first, int64_t count);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;

 private:
  template <typename T>
  void fill_strips(int64_t length);
  void write(int64_t offset, uint64_t pattern, std::byte* out) const;

  uint64_t seed_;
  int64_t first_, count_;
  int64_t height_, row_elements_, block_rows_, block_columns_;
  std::vector<int64_t> block_starts_;  // of each block of a row, in elements; then the row's end
  SampleSpec spec_;
  std::vector<std::byte> strips_[2];  // of the column's dtype: noise around -0.6, around +0.6
};

SyntheticImages::SyntheticImages(const SyntheticConfig& config, const Shape& shape,
                                 const ReadOptions& options, int64_t first, int64_t count)
    : seed_(options.seed),
      first_(first),
      count_(count),
      height_(shape[0]),
      row_elements_(shape[1] * shape[2]),
      block_rows_(std::min(max_blocks, shape[0])),
      block_columns_(std::min(
          max_blocks * (config.kind == SyntheticConfig::Kind::images ? 1 : max_blocks), shape[1])) {
  bool images = config.kind == SyntheticConfig::Kind::images;
  spec_.columns = {
      {images ? "images" : "features", images ? shape : Shape{shape[1]}, options.dtype},
      {"labels", {}, DType::i32}};
  spec_.classes = config.classes;
  for (int64_t b = 0; b <= block_columns_; ++b)
    block_starts_.push_back((b * shape[1] + block_columns_ - 1) / block_columns_ * shape[2]);
  with_any_float_type(options.dtype, [&](auto type) {
    fill_strips<decltype(type)>(shape.elements() + max_offset);
  });
}

template <typename T>
void SyntheticImages::fill_strips(int64_t length) {
  const float width = 0.8f * std::sqrt(12.0f);  // a uniform of this width deviates by 0.8
  RandomStream stream = stream_of(seed_, noise);
  for (auto& strip : strips_) strip.resize(static_cast<size_t>(length) * sizeof(T));
  for (int64_t i = 0; i < length; ++i) {
    float value = (stream.uniform(static_cast<uint64_t>(i)) - 0.5f) * width;
    for (int sign : {0, 1}) {
      T shifted = value + (sign == 1 ? 0.6f : -0.6f);
      std::memcpy(strips_[sign].data() + static_cast<size_t>(i) * sizeof(T), &shifted, sizeof(T));
    }
  }
}

// Writes one sample: a copy from the dark strip, with the bright blocks, the bits of `pattern`,
// from the other. Bright neighbours are copied together.
void SyntheticImages::write(int64_t offset, uint64_t pattern, std::byte* out) const {
  const size_t size = size_of(spec_.columns[0].dtype);
  auto copy = [&](int strip, int64_t at, int64_t count) {
    std::memcpy(out + static_cast<size_t>(at) * size,
                strips_[strip].data() + static_cast<size_t>(offset + at) * size,
                static_cast<size_t>(count) * size);
  };
  copy(0, 0, height_ * row_elements_);
  for (int64_t y = 0; y < height_; ++y) {
    const uint64_t row = pattern >> (y * block_rows_ / height_ * block_columns_);
    for (int64_t b = 0; b < block_columns_; ++b) {
      if ((row >> b & 1) == 0) continue;
      int64_t first = b;
      while (b + 1 < block_columns_ && (row >> (b + 1) & 1) != 0) ++b;
      int64_t from = block_starts_[static_cast<size_t>(first)];
      copy(1, y * row_elements_ + from, block_starts_[static_cast<size_t>(b + 1)] - from);
    }
  }
}

void SyntheticImages::read(std::span<const int64_t> samples, int64_t,
                           std::span<std::byte* const> columns) const {
  auto* labels = reinterpret_cast<int32_t*>(columns[1]);
  for (size_t row = 0; row < samples.size(); ++row) {
    RandomStream draw = stream_of(seed_, SyntheticPart::samples, first_ + samples[row]);
    uint32_t label = draw.below(0, static_cast<uint32_t>(spec_.classes));
    RandomStream pattern = stream_of(seed_, patterns, label);
    labels[row] = static_cast<int32_t>(label);
    write(draw.below(1, max_offset), uint64_t{pattern.bits(0)} << 32 | pattern.bits(1),
          columns[0] + row * spec_.columns[0].row_bytes());
  }
}

class SyntheticTokens : public Dataset {
 public:
  SyntheticTokens(const SyntheticConfig& config, const ReadOptions& options, int64_t first,
                  int64_t count);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;

 private:
  uint64_t seed_;
  int64_t first_, count_;
  SampleSpec spec_;
  std::vector<int32_t> strip_;  // (T + max_offset)
};

SyntheticTokens::SyntheticTokens(const SyntheticConfig& config, const ReadOptions& options,
                                 int64_t first, int64_t count)
    : seed_(options.seed), first_(first), count_(count) {
  int64_t length = config.shape[0];
  spec_.columns = {{"tokens", {length}, DType::i32}, {"targets", {length}, DType::i32}};
  spec_.classes = config.classes;
  auto vocabulary = static_cast<uint32_t>(config.classes);
  RandomStream next = stream_of(seed_, successors), draw = stream_of(seed_, sequence);
  uint32_t token = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(length + max_offset); ++i) {
    strip_.push_back(static_cast<int32_t>(token));
    bool follows = draw.below(2 * i, 4) != 0;
    token = follows ? next.below(token, vocabulary) : draw.below(2 * i + 1, vocabulary);
  }
}

// targets are the tokens one position later: both are copied from the strip.
void SyntheticTokens::read(std::span<const int64_t> samples, int64_t,
                           std::span<std::byte* const> columns) const {
  size_t bytes = spec_.columns[0].row_bytes();
  for (size_t row = 0; row < samples.size(); ++row) {
    RandomStream draw = stream_of(seed_, SyntheticPart::samples, first_ + samples[row]);
    const int32_t* from = strip_.data() + draw.below(0, max_offset);
    std::memcpy(columns[0] + row * bytes, from, bytes);
    std::memcpy(columns[1] + row * bytes, from + 1, bytes);
  }
}

// Returns config.shape as (H, W, C) of images, or (1, size, 1).
Shape shape_of(const SyntheticConfig& config) {
  const std::vector<int64_t>& dims = config.shape;
  bool images = config.kind == SyntheticConfig::Kind::images;
  if (dims.size() != (images ? 3u : 1u))
    fail(Category::config, "data.synthetic.shape: [{}] does not fit {}; use {}",
         fmt::join(dims, ", "), word_of(config.kind),
         images ? "[height, width, channels]" : "one number, such as [64]");
  double elements = 1;
  for (int64_t dim : dims) elements *= static_cast<double>(dim);
  if (elements > static_cast<double>(max_strip))
    fail(Category::config, "data.synthetic.shape: [{}] has more than {} elements; make it smaller",
         fmt::join(dims, ", "), max_strip);
  return images ? Shape(dims) : Shape{1, dims[0], 1};
}

}  // namespace

DatasetPair open_synthetic(const DataConfig& config, const ReadOptions& options) {
  if (options.as_stored)
    fail(Category::config,
         "data.name: synthetic samples are not stored, so they cannot be inspected, verified or "
         "converted; name another dataset");
  const SyntheticConfig& synthetic = config.synthetic;
  Shape shape = shape_of(synthetic);
  auto make = [&](int64_t first, int64_t count) -> std::unique_ptr<Dataset> {
    if (synthetic.kind == SyntheticConfig::Kind::tokens)
      return std::make_unique<SyntheticTokens>(synthetic, options, first, count);
    return std::make_unique<SyntheticImages>(synthetic, shape, options, first, count);
  };
  return {make(0, synthetic.samples), make(synthetic.samples, synthetic.test_samples)};
}

}  // namespace spire
