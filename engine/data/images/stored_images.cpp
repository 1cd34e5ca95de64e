#include "engine/data/images/stored_images.h"

#include <spire/error.h>

namespace spire::inline data {
namespace {

Shape shape_of(const Shape& stored, int64_t size) {
  return size == 0 ? stored : Shape({size, size, stored[2]});
}

}  // namespace

int64_t evaluation_size(const ImageConfig& config, const ReadOptions& options) {
  return options.stored || config.eval_size == 0 ? config.size : config.eval_size;
}

StoredSizing sizing_of(const DataConfig& config, const ReadOptions& options, bool evaluation) {
  if (options.stored) return {};
  return {.size = evaluation || options.plain ? evaluation_size(config.image, options)
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
      cropper_({shape_[0], shape_[1]}, augment, options.seed, {.fit = sizing.fit, .share = 1}),
      writer_(shape_, normalization, options.image_dtype(), augment, options.seed, outside) {
  if (shape_ == stored_ && !augment.random_resized_crop) return;
  if (stored_[2] > 4)
    fail(Category::config,
         "data.image.size, eval_size: images of {} channels cannot be resized, only those of at "
         "most 4; use 0",
         stored_[2]);
  scratch_ = std::make_unique<ScratchPool<Scratch>>(sizing.readers,
                                                    [] { return std::make_unique<Scratch>(); });
}

void StoredImageWriter::write(const uint8_t* pixels, int64_t epoch, int64_t sample,
                              void* out) const {
  if (!scratch_) return writer_.write(pixels, epoch, sample, out);
  auto scratch = scratch_->borrow();
  ImageSize size = {stored_[0], stored_[1]};
  scratch->resized.resize(static_cast<size_t>(shape_.elements()));
  cropper_.crop({pixels, static_cast<size_t>(stored_.elements())}, size, stored_[2],
                cropper_.box(size, epoch, sample), 1, scratch->resized.data(), scratch->resizing);
  writer_.write(scratch->resized.data(), epoch, sample, out);
}

}  // namespace spire::inline data
