// Dataset of labelled images in memory, and the normalization of their pixels.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/sample_reading.h"

namespace spire {

// Working memory of one reader of images; it grows to the needs of the largest one.
struct ImageScratch {
  std::vector<uint8_t> file, fitted;
  RgbImage decoded;
  ResizeScratch resizing;
};

// Turns images of any size into what a model reads: cuts a box from each, resizes, augments and
// normalizes it. Immutable, hence thread-safe.
class ImageFitter {
 public:
  // shape: (H, W, C) of the results, the same as that of cropper and writer. whole_if_fits: an
  // image of size (H, W) is not cropped.
  ImageFitter(const Shape& shape, const Cropper& cropper, ImageWriter writer, bool whole_if_fits)
      : shape_(shape), cropper_(cropper), writer_(std::move(writer)), whole_(whole_if_fits) {}

  const ImageWriter& writer() const { return writer_; }

  // pixels: (size, C) -> out (H, W, C).
  void write_pixels(std::span<const uint8_t> pixels, ImageSize size, int64_t epoch, int64_t sample,
                    ImageScratch& scratch, void* out) const;
  // Decodes an image file. size: of its upright image (image_size()). A JPEG is decoded at the
  // smallest scale that keeps enough pixels. C must be 3 or 1; for 1 colors become gray by their
  // luma. Throws as decode_image().
  void write_file(std::span<const uint8_t> file, ImageSize size, int64_t epoch, int64_t sample,
                  ImageScratch& scratch, void* out) const;

 private:
  bool is_whole(ImageSize size) const { return whole_ && size == ImageSize{shape_[0], shape_[1]}; }
  void write_box(std::span<const uint8_t> pixels, ImageSize decoded, const Box& box, int reduce,
                 int64_t epoch, int64_t sample, ImageScratch& scratch, void* out) const;

  Shape shape_;
  Cropper cropper_;
  ImageWriter writer_;
  bool whole_;
};

// Images that are stored in one size get another one if the config asks for it.

// Returns the side of images in evaluations, in pixels; 0: the config gives none. With
// options.as_stored (conversion and inspection) it is that of training.
int64_t evaluation_size(const ImageConfig& config, const ReadOptions& options);

struct StoredSizing {
  int64_t size = 0;  // side, in pixels; 0: as stored
  ImageConfig::Fit fit = ImageConfig::Fit::crop;
  int64_t readers = 1;  // threads that write at a time
};

// Returns the sizing of a split. evaluation: of test and validation samples, and with
// options.as_evaluation of training samples, too. With options.as_stored images keep their size.
StoredSizing sizing_of(const DataConfig& config, const ReadOptions& options, bool evaluation);

class StoredImageWriter {  // thread-safe
 public:
  // stored: shape (H, W, C) of the images. outside: as in ImageWriter. Throws what ImageWriter
  // throws, and Error(config) if images of more than 4 channels are to be resized.
  StoredImageWriter(const Shape& stored, const StoredSizing& sizing,
                    const Normalization& normalization, const AugmentConfig& augment,
                    const ReadOptions& options, Outside outside = Outside::black);

  // Converts pixels of the stored shape to `out`, of shape(). Blocks while `readers` others write.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  const Shape& shape() const { return shape_; }
  bool resizes() const { return scratch_ != nullptr; }
  size_t image_bytes() const { return fitter_.writer().image_bytes(); }

 private:
  Shape stored_, shape_;
  ImageFitter fitter_;
  std::unique_ptr<ScratchPool<ImageScratch>> scratch_;  // null: images keep their size
};

struct LabelledImages {
  std::vector<uint8_t> pixels;  // (N, H, W, C)
  std::vector<int32_t> labels;  // (N), each in [0, classes)
  int64_t count = 0, height = 0, width = 0, channels = 0, classes = 0;
  std::vector<std::string> class_names = {};  // (classes); empty if unknown
  std::vector<std::filesystem::path> files = {};

  int64_t image_size() const { return height * width * channels; }  // in elements
  Shape image_shape() const { return {height, width, channels}; }
};

// Columns: images (H, W, C), of the size asked for and normalized, and labels (). Throws
// Error(data) for labels out of range.
class ImageDataset : public Dataset {
 public:
  ImageDataset(LabelledImages images, const Normalization& normalization,
               const AugmentConfig& augment, const ReadOptions& options,
               const StoredSizing& sizing = {});

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return images_.count; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  std::vector<std::filesystem::path> files() const override { return images_.files; }

 private:
  const uint8_t* pixels_of(int64_t sample) const;

  LabelledImages images_;
  StoredImageWriter writer_;
  SampleSpec spec_;
};

// Makes both datasets. Only the training images are augmented. Both are normalized as the config
// says; if it says nothing, by mean and deviation of the training images.
DatasetPair make_image_pair(LabelledImages train, LabelledImages test, const DataConfig& config,
                            const ReadOptions& options);

class PixelHistogram {  // of the pixel values of each channel
 public:
  explicit PixelHistogram(int64_t channels) : counts_(static_cast<size_t>(channels)) {}

  void add(std::span<const uint8_t> pixels);  // (.., C)

  // Returns mean and population standard deviation of pixel / 255 in fp64, whatever the order of
  // pixels. Throws Error(data), which begins with `what`, if all pixels of a channel are equal.
  Normalization normalization(const std::string& what) const;

 private:
  std::vector<std::array<int64_t, 256>> counts_;
};

Normalization normalization_of(const LabelledImages& images);  // throws as PixelHistogram does

// Returns the normalization of the images; where it is empty, pixel / 255.
Normalization input_normalization(const SampleSpec& spec);

// Returns the normalization of target images, which is that of the images. Throws Error(config) if
// the number of channels differs, unless pixels are from 0 to 1 (data.normalize: unit).
Normalization target_normalization(const SampleSpec& spec);

// Returns the normalization that data.normalize: unit or data.mean and data.stddev ask for; empty
// if the config asks for none. Throws Error(config) unless mean and stddev have `channels` numbers
// each.
Normalization configured_normalization(const DataConfig& config, int64_t channels);

}  // namespace spire
