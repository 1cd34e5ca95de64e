// Makes of images that are stored in one size what a model reads: another size if the config asks
// for it, augmented and normalized.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>

#include "engine/data/images/augment.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/sample_reading.h"

namespace spire::inline data {

// Side of the images of an evaluation, in pixels; 0: none is given. Conversion and inspection
// (options.stored) read both splits alike.
int64_t evaluation_size(const ImageConfig& config, const ReadOptions& options);

struct StoredSizing {
  int64_t size = 0;  // side, in pixels; 0: as stored
  ImageConfig::Fit fit = ImageConfig::Fit::crop;
  int64_t readers = 1;  // threads that write at a time
};

// Returns the sizing of a split. Training samples that are read as test samples are (options.plain)
// have the size of evaluations. Where images are read as stored, it leaves them as they are.
StoredSizing sizing_of(const DataConfig& config, const ReadOptions& options, bool evaluation);

class StoredImageWriter {  // thread-safe
 public:
  // stored: shape (H, W, C) of the images. outside: as ImageWriter has it. Throws what ImageWriter
  // does, and Error(config) where images of more than 4 channels are to be resized.
  StoredImageWriter(const Shape& stored, const StoredSizing& sizing,
                    const Normalization& normalization, const AugmentConfig& augment,
                    const ReadOptions& options, Outside outside = Outside::black);

  // Converts pixels of the stored shape to `out`, of shape(). Blocks while `readers` others write.
  void write(const uint8_t* pixels, int64_t epoch, int64_t sample, void* out) const;
  const Shape& shape() const { return shape_; }
  bool resizes() const { return scratch_ != nullptr; }
  size_t image_bytes() const { return writer_.image_bytes(); }

 private:
  struct Scratch {
    std::vector<uint8_t> resized;
    ResizeScratch resizing;
  };

  Shape stored_, shape_;
  Cropper cropper_;
  ImageWriter writer_;
  std::unique_ptr<ScratchPool<Scratch>> scratch_;  // null: images keep their size
};

}  // namespace spire::inline data
