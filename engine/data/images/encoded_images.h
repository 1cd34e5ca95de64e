// Dataset of encoded images (JPEG, PNG, ...), which are decoded each time they are read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/part_names.h"

namespace spire {

class EncodedImages {  // where the images of one split lie, with their labels; thread-safe
 public:
  virtual ~EncodedImages() = default;

  virtual int64_t count() const = 0;
  virtual int32_t label(int64_t image) const = 0;
  virtual std::string name(int64_t image) const = 0;  // for messages: the file, or its place in one

  // Reads the bytes of an image. Throws Error(data) that names the file; FileChanged if it is not
  // the file that was read before.
  virtual void read(int64_t image, std::vector<uint8_t>& bytes) const = 0;

  virtual std::vector<std::filesystem::path> files() const = 0;
  virtual int64_t chunk() const { return 1; }  // as Dataset::chunk()
};

struct EncodedSplits {
  std::unique_ptr<EncodedImages> train, test, val = {};  // val may be null
  std::vector<std::string> class_names = {};             // (classes); empty if unknown
  int64_t classes = 0;
  std::vector<std::string> notes = {};
};

// Removes from `images` those that test_images_of() chooses by their `label`, and returns them.
template <typename Image>
std::vector<Image> take_test_images(std::vector<Image>& images, double share,
                                    const std::string& what) {
  std::vector<int32_t> labels;
  for (const Image& image : images) labels.push_back(image.label);
  std::vector<bool> chosen = test_images_of(labels, share, what);
  std::vector<Image> train, test;
  for (size_t i = 0; i < images.size(); ++i)
    (chosen[i] ? test : train).push_back(std::move(images[i]));
  images = std::move(train);
  return test;
}

// Makes the datasets, with columns images (S, S, 3) and labels (). S is data.image.size, in
// `test` and `val` data.image.eval_size. Each read decodes, fits and normalizes, by default with
// ImageNet's mean and deviation.
DatasetPair make_encoded_pair(EncodedSplits splits, const DataConfig& config,
                              const ReadOptions& options);

}  // namespace spire
