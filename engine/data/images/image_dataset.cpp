#include "engine/data/images/image_dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/fail.h"

namespace spire {
namespace {

Shape shape_of(const Shape& stored, int64_t size) {
  return size == 0 ? stored : Shape({size, size, stored[2]});
}

// Converts RGB to gray in place by ITU-R BT.601 luma, 0.299 R + 0.587 G + 0.114 B. The weights are
// in units of 2^-16 and sum to one, so that gray colors keep their value.
void make_gray(std::vector<uint8_t>& pixels) {
  constexpr uint32_t red = 19595, green = 38470, blue = 7471, half = 1 << 15;
  for (size_t i = 0; i < pixels.size() / 3; ++i) {
    const uint8_t* rgb = pixels.data() + 3 * i;
    pixels[i] = static_cast<uint8_t>((red * rgb[0] + green * rgb[1] + blue * rgb[2] + half) >> 16);
  }
  pixels.resize(pixels.size() / 3);
}

// Returns the images; their sizes must fit together.
LabelledImages checked(LabelledImages images) {
  auto count = static_cast<size_t>(images.count);
  require(images.count >= 1 && images.image_size() >= 1, "a dataset without samples");
  require(images.pixels.size() == count * static_cast<size_t>(images.image_size()) &&
              images.labels.size() == count,
          "a dataset of {} samples with {} pixels and {} labels", count, images.pixels.size(),
          images.labels.size());
  return images;
}

// Prefetches the next image while the one before is written: a shuffled image is in no cache. At
// most 64 lines, since more would push out what is being read.
void fetch_ahead(const uint8_t* pixels, int64_t bytes) {
  constexpr int64_t line = 64, max_bytes = 64 * line;
  for (int64_t i = 0; i < std::min(bytes, max_bytes); i += line) __builtin_prefetch(pixels + i);
}

}  // namespace

void ImageFitter::write_pixels(std::span<const uint8_t> pixels, ImageSize size, int64_t epoch,
                               int64_t sample, ImageScratch& scratch, void* out) const {
  if (is_whole(size)) return writer_.write(pixels.data(), epoch, sample, out);
  write_box(pixels, size, cropper_.box(size, epoch, sample), 1, epoch, sample, scratch, out);
}

void ImageFitter::write_file(std::span<const uint8_t> file, ImageSize size, int64_t epoch,
                             int64_t sample, ImageScratch& scratch, void* out) const {
  bool whole = is_whole(size);
  Box box = cropper_.box(size, epoch, sample);
  int reduce = is_jpeg(file) && !whole ? cropper_.reduction(box) : 1;
  RgbImage& decoded = scratch.decoded;
  decode_image(file, reduce, decoded);
  if (shape_[2] == 1) make_gray(decoded.pixels);
  if (whole) return writer_.write(decoded.pixels.data(), epoch, sample, out);
  write_box(decoded.pixels, decoded.size, box, reduce, epoch, sample, scratch, out);
}

void ImageFitter::write_box(std::span<const uint8_t> pixels, ImageSize decoded, const Box& box,
                            int reduce, int64_t epoch, int64_t sample, ImageScratch& scratch,
                            void* out) const {
  scratch.fitted.resize(static_cast<size_t>(shape_.elements()));
  cropper_.crop(pixels, decoded, shape_[2], box, reduce, scratch.fitted.data(), scratch.resizing);
  writer_.write(scratch.fitted.data(), epoch, sample, out);
}

int64_t evaluation_size(const ImageConfig& config, const ReadOptions& options) {
  return options.as_stored || config.eval_size == 0 ? config.size : config.eval_size;
}

StoredSizing sizing_of(const DataConfig& config, const ReadOptions& options, bool evaluation) {
  if (options.as_stored) return {};
  return {.size = evaluation || options.as_evaluation ? evaluation_size(config.image, options)
                                                      : config.image.size,
          .fit = config.image.fit,
          .readers = config.workers + 1};
}

StoredImageWriter::StoredImageWriter(const Shape& stored, const StoredSizing& sizing,
                                     const Normalization& normalization,
                                     const AugmentConfig& augment, const ReadOptions& options,
                                     Outside outside)
    : stored_(stored),
      shape_(shape_of(stored, sizing.size)),
      fitter_(
          shape_,
          Cropper({shape_[0], shape_[1]}, augment, options.seed, {.fit = sizing.fit, .share = 1}),
          ImageWriter(shape_, normalization, options.image_dtype(), augment, options.seed, outside),
          !augment.random_resized_crop) {
  if (shape_ == stored_ && !augment.random_resized_crop) return;
  if (stored_[2] > 4)
    fail(Category::config,
         "data.image.size, eval_size: images of {} channels cannot be resized, only those of at "
         "most 4; use 0",
         stored_[2]);
  scratch_ = std::make_unique<ScratchPool<ImageScratch>>(
      sizing.readers, [] { return std::make_unique<ImageScratch>(); });
}

void StoredImageWriter::write(const uint8_t* pixels, int64_t epoch, int64_t sample,
                              void* out) const {
  if (!scratch_) return fitter_.writer().write(pixels, epoch, sample, out);
  auto scratch = scratch_->borrow();
  fitter_.write_pixels({pixels, static_cast<size_t>(stored_.elements())}, {stored_[0], stored_[1]},
                       epoch, sample, *scratch, out);
}

ImageDataset::ImageDataset(LabelledImages images, const Normalization& normalization,
                           const AugmentConfig& augment, const ReadOptions& options,
                           const StoredSizing& sizing)
    : images_(checked(std::move(images))),
      writer_(images_.image_shape(), sizing, normalization, augment, options),
      spec_{.columns = {{"images", writer_.shape(), options.image_dtype()},
                        {"labels", {}, DType::i32}},
            .classes = images_.classes,
            .class_names = images_.class_names,
            .normalization = normalization} {}

const uint8_t* ImageDataset::pixels_of(int64_t sample) const {
  return images_.pixels.data() + sample * images_.image_size();
}

void ImageDataset::read(std::span<const int64_t> samples, int64_t epoch,
                        std::span<std::byte* const> columns) const {
  std::byte* image = columns[0];
  auto* labels = reinterpret_cast<int32_t*>(columns[1]);
  for (size_t row = 0; row < samples.size(); ++row, image += writer_.image_bytes()) {
    if (row + 1 < samples.size()) fetch_ahead(pixels_of(samples[row + 1]), images_.image_size());
    int64_t sample = samples[row];
    int32_t label = images_.labels[static_cast<size_t>(sample)];
    if (label < 0 || label >= images_.classes)
      fail(Category::data, "sample {}: label {}, expected 0 to {}", sample, label,
           images_.classes - 1);
    labels[row] = label;
    writer_.write(pixels_of(sample), epoch, sample, image);
  }
}

DatasetPair make_image_pair(LabelledImages train, LabelledImages test, const DataConfig& config,
                            const ReadOptions& options) {
  Normalization normalization = configured_normalization(config, train.channels);
  if (normalization.mean.empty()) normalization = normalization_of(train);
  return {std::make_unique<ImageDataset>(std::move(train), normalization, config.augment, options,
                                         sizing_of(config, options, false)),
          std::make_unique<ImageDataset>(std::move(test), normalization, AugmentConfig{}, options,
                                         sizing_of(config, options, true))};
}

Normalization normalization_of(const LabelledImages& images) {
  PixelHistogram histogram(images.channels);
  histogram.add(images.pixels);
  return histogram.normalization("training images");
}

void PixelHistogram::add(std::span<const uint8_t> pixels) {
  if (counts_.size() == 1) {  // without the division of i % C
    for (uint8_t pixel : pixels) ++counts_[0][pixel];
    return;
  }
  for (size_t i = 0; i < pixels.size(); ++i) ++counts_[i % counts_.size()][pixels[i]];
}

Normalization PixelHistogram::normalization(const std::string& what) const {
  Normalization result;
  for (size_t c = 0; c < counts_.size(); ++c) {
    const std::array<int64_t, 256>& histogram = counts_[c];
    double n = 0, sum = 0, squares = 0;
    for (size_t v = 0; v < 256; ++v) {
      n += static_cast<double>(histogram[v]);
      sum += static_cast<double>(histogram[v]) * static_cast<double>(v);
    }
    // Deviations from the mean, not E[x^2] - mean^2, which would cancel.
    for (size_t v = 0; v < 256; ++v) {
      double from_mean = static_cast<double>(v) - sum / n;
      squares += static_cast<double>(histogram[v]) * from_mean * from_mean;
    }
    if (std::count(histogram.begin(), histogram.end(), 0) >= 255)
      fail(Category::data,
           "{}: all pixels of channel {} are {}, so it cannot be normalized; set data.normalize: "
           "unit",
           what, c, sum / n);
    result.mean.push_back(sum / n / 255.0);
    result.stddev.push_back(std::sqrt(squares / n) / 255.0);
  }
  return result;
}

Normalization input_normalization(const SampleSpec& spec) {
  if (!spec.normalization.mean.empty()) return spec.normalization;
  auto channels = static_cast<size_t>(spec.columns[0].shape[2]);
  return {std::vector(channels, 0.0), std::vector(channels, 1.0)};
}

Normalization target_normalization(const SampleSpec& spec) {
  const Normalization& images = spec.normalization;
  auto channels = static_cast<size_t>(spec.find("target_images")->shape.back());
  if (images.mean.size() == channels) return images;
  bool unit = std::ranges::all_of(images.mean, [](double mean) { return mean == 0; }) &&
              std::ranges::all_of(images.stddev, [](double stddev) { return stddev == 1; });
  if (!unit)
    fail(Category::config,
         "data.normalize: images have {} channels and their targets {}, so both must be from 0 to "
         "1; use unit",
         images.mean.size(), channels);
  return {std::vector(channels, 0.0), std::vector(channels, 1.0)};
}

Normalization configured_normalization(const DataConfig& config, int64_t channels) {
  auto count = static_cast<size_t>(channels);
  if (config.normalize == DataConfig::Normalize::unit)
    return {std::vector(count, 0.0), std::vector(count, 1.0)};
  if (config.mean.empty() && config.stddev.empty()) return {};
  if (config.mean.size() != count || config.stddev.size() != count)
    fail(Category::config,
         "data.mean, data.stddev: got {} and {} numbers for {} channels; give {} of each",
         config.mean.size(), config.stddev.size(), channels, channels);
  return {config.mean, config.stddev};
}

}  // namespace spire
