// JPEG files as pixels, at each reduction, and cropped as a folder of images is.
#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/images/resized_crop.h"
#include "tests/data/images/image_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/images.h"

namespace spire::fuzz {
namespace {

void check(std::span<const uint8_t> file, int reduce, const AugmentConfig& augment) {
  auto stated = size_to_decode(file);
  if (!stated) return;
  ImageSize size = *stated;
  RgbImage image;
  decode_image(file, reduce, image);
  ImageSize expected = {(size.height + reduce - 1) / reduce, (size.width + reduce - 1) / reduce};
  require(image.size == expected, "1 / {} of {} x {} is {} x {}", reduce, size.height, size.width,
          image.size.height, image.size.width);
  auto bytes = static_cast<size_t>(3 * expected.height * expected.width);
  require(image.pixels.size() == bytes, "{} bytes of pixels, not {}", image.pixels.size(), bytes);
  constexpr int64_t side = 8;
  Cropper cropper({side, side}, augment, 1);
  Box box = cropper.box(size, 0, 0);
  std::vector<uint8_t> out(side * side * 3);
  ResizeScratch scratch;
  cropper.crop(image.pixels, image.size, 3, box, reduce, out.data(), scratch);
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::span<const uint8_t> file(data, size);
  if (!is_jpeg(file)) return refused;
  AugmentConfig crops;
  crops.random_resized_crop = true;
  int whole = parse_or_refuse(Category::data, [&] { check(file, 1, crops); });
  for (int reduce : {2, 4, 8}) parse_or_refuse(Category::data, [&] { check(file, reduce, {}); });
  return whole;
}

std::vector<Bytes> seeds() {
  RgbImage image = smooth_image(17, 23);
  RgbImage grey{{8, 9}, pattern(72)}, ink{{9, 8}, pattern(4 * 72)};
  return {jpeg_bytes(image), jpeg_bytes(image, {.quality = 40, .progressive = true}),
          jpeg_bytes(grey, {.components = 1}), jpeg_bytes(ink, {.components = 4}),
          jpeg_bytes(image, {.orientation = 6})};
}

}  // namespace spire::fuzz
