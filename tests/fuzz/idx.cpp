// Fuzz target of IDX files, plain or gzip: one file, read as images and as labels.
#include "engine/data/formats/labelled_files.h"
#include "tests/data/test_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

// Requires as many values as the dimensions say.
void check_size(const IdxFile& idx, size_t rank) {
  require(idx.dims.size() == rank, "{} dimensions, not {}", idx.dims.size(), rank);
  size_t elements = 1;
  for (int64_t dim : idx.dims) elements *= static_cast<size_t>(dim);
  require(idx.values.size() == elements, "{} values for {}", idx.values.size(), elements);
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  int images =
      parse_or_refuse(Category::data, [&] { check_size(read_idx_images(file.path()), 3); });
  int labels =
      parse_or_refuse(Category::data, [&] { check_size(read_idx_labels(file.path()), 1); });
  require(images == refused || labels == refused, "one file is both images and labels");
  return images == accepted || labels == accepted ? accepted : refused;
}

std::vector<Bytes> seeds() {
  constexpr uint32_t images = 0x803, labels = 0x801;
  Bytes image = idx_bytes(images, {4, 3, 2}, pattern(24));
  Bytes classes = idx_bytes(labels, {5}, {0, 1, 2, 1, 9});
  Bytes both = gzip({image.begin(), image.begin() + 20});  // gzip members may be joined
  Bytes rest = gzip({image.begin() + 20, image.end()});
  both.insert(both.end(), rest.begin(), rest.end());
  return {image,         classes, gzip(image),
          gzip(classes), both,    gzip(idx_bytes(images, {10, 28, 28}, Bytes(7840)))};
}

}  // namespace spire::fuzz
