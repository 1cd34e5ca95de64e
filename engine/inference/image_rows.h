// JPEG, PNG and IDX files as images of the size and the colors that a model reads.
#pragma once
#include <optional>

#include "engine/data/formats/idx.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/resized_crop.h"
#include "engine/inference/input_rows.h"

namespace spire::inline inference {

// An image becomes what the test half of the run's data would have made of it. For image_folder
// that is its middle, resized. Other datasets take images as stored: so is one of the model's own
// size, others are cropped and resized as image_folder's. Colors become gray by their luma
// (ITU-R BT.601), gray becomes colors of three equal channels.
class ImageRows : public InputRows {
 public:
  // Throws Error(config) for a model of images that are neither gray nor colored.
  ImageRows(std::vector<ListedInput> files, const SampleSpec& spec, const DataConfig& config,
            InputReport report);

  std::vector<RowOrigin> read(int64_t most, std::byte* rows) override;

 private:
  std::optional<RowOrigin> read_next(std::byte* row);
  std::optional<RowOrigin> read_idx(std::byte* row);
  void read_image(const std::filesystem::path& path, std::byte* row);
  void write(ImageSize image, int reduce, const Box& box, std::byte* row);
  bool is_whole(ImageSize image) const { return image == size_ && !always_crops_; }

  std::vector<ListedInput> files_;
  InputReport report_;
  bool always_crops_;
  ImageSize size_;
  int64_t channels_;
  Cropper cropper_;
  ImageWriter writer_;

  size_t next_ = 0;               // of files_
  std::optional<IdxImages> idx_;  // files_[next_ - 1], while it has images
  int64_t idx_row_ = 0;
  std::vector<uint8_t> file_, fitted_;
  RgbImage decoded_;  // (H, W, channels_) once its colors are the model's
  ResizeScratch resizing_;
};

}  // namespace spire::inline inference
