#include "engine/data/images/encoded_images.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/sample_reading.h"
#include "engine/data/sampler.h"

namespace spire {
namespace {

constexpr int64_t channels = 3;  // all images are decoded to RGB
constexpr int64_t default_size = 224;

// Mean and deviation of ImageNet's training images; published models expect them, too.
const Normalization imagenet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

// One split. Columns: images (size, size, 3), labels ().
class EncodedImageDataset : public Dataset {
 public:
  EncodedImageDataset(std::unique_ptr<EncodedImages> images, SampleSpec spec,
                      const DataConfig& config, const AugmentConfig& augment,
                      const ReadOptions& options)
      : images_(std::move(images)),
        spec_(std::move(spec)),
        fitter_(spec_.columns[0].shape,
                Cropper({spec_.columns[0].shape[0], spec_.columns[0].shape[1]}, augment,
                        options.seed, {.fit = config.image.fit}),
                ImageWriter(spec_.columns[0].shape, spec_.normalization, options.image_dtype(),
                            augment, options.seed),
                false),
        corrupt_(count(), config),
        together_(config.shuffle == DataConfig::Shuffle::chunk),
        scratch_(config.workers + 1, [] { return std::make_unique<ImageScratch>(); }) {}

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return images_->count(); }
  int64_t chunk() const override { return together_ ? images_->chunk() : 1; }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }
  void set_held_out(const std::vector<bool>& held_out) override { corrupt_.set_held_out(held_out); }
  std::vector<std::filesystem::path> files() const override { return images_->files(); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto scratch = scratch_.borrow();
    auto* labels = reinterpret_cast<int32_t*>(columns[1]);
    for (size_t row = 0; row < samples.size(); ++row)
      corrupt_.read_or_skip(samples[row], [&](int64_t sample) {
        write_image(sample, epoch, *scratch, columns[0] + row * fitter_.writer().image_bytes());
        labels[row] = images_->label(sample);
      });
  }

  void read_labels(int64_t first, std::span<int32_t> out) const override {
    for (int32_t& label : out) label = images_->label(first++);
  }

 private:
  void write_image(int64_t sample, int64_t epoch, ImageScratch& scratch, std::byte* out) const {
    images_->read(sample, scratch.file);
    try {
      fitter_.write_file(scratch.file, image_size(scratch.file), epoch, sample, scratch, out);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      fail(Category::data, "{}: sample {}: {}", images_->name(sample), sample, error.what());
    }
  }

  std::unique_ptr<EncodedImages> images_;
  SampleSpec spec_;
  ImageFitter fitter_;
  CorruptSamples corrupt_;
  bool together_;  // chunks are read in turns
  mutable ScratchPool<ImageScratch> scratch_;
};

}  // namespace

DatasetPair make_encoded_pair(EncodedSplits splits, const DataConfig& config,
                              const ReadOptions& options) {
  auto spec_of = [&](int64_t size) {
    if (size == 0) size = default_size;
    SampleSpec spec;
    spec.columns = {{"images", {size, size, channels}, options.image_dtype()},
                    {"labels", {}, DType::i32}};
    spec.class_names = splits.class_names;
    spec.classes = splits.classes;
    spec.normalization = configured_normalization(config, channels);
    if (spec.normalization.mean.empty()) spec.normalization = imagenet;
    return spec;
  };
  auto dataset = [&](std::unique_ptr<EncodedImages>& images, int64_t size,
                     const AugmentConfig& augment) {
    return std::make_unique<EncodedImageDataset>(std::move(images), spec_of(size), config, augment,
                                                 options);
  };
  int64_t evaluated = evaluation_size(config.image, options);
  return {
      dataset(splits.train, options.as_evaluation ? evaluated : config.image.size, config.augment),
      dataset(splits.test, evaluated, {}), std::move(splits.notes),
      splits.val ? dataset(splits.val, evaluated, {}) : nullptr};
}

}  // namespace spire
