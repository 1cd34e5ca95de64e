// HDF5 files with training and test splits, for tests that open them as datasets.
#pragma once
#include "engine/data/dataset.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/numbered.h"

namespace spire {

class Hdf5Dataset : public FolderTest {};

inline DataConfig config_of(const std::filesystem::path& file) {
  return data_at("hdf5", file);
}

inline constexpr int64_t side = 5;

// Writes numbered images to both splits, in chunks, compressed at level `gzip`.
inline void write_images(const std::filesystem::path& path, int64_t count, hsize_t chunk,
                         unsigned gzip = 0) {
  LabelledImages images = numbered(count, side);
  std::vector<int64_t> labels(images.labels.begin(), images.labels.end());
  auto n = static_cast<hsize_t>(count);
  write_parts(path, [&](Hdf5File& file, const std::string& part) {
    file.put(part + "images", {n, side, side, 1}, images.pixels, chunk, gzip);
    file.put(part + "labels", {n}, labels);
  });
}

template <typename In, typename Out>
void write_splits(const std::filesystem::path& path, const std::vector<hsize_t>& in_dims,
                  const std::vector<In>& in, const std::vector<hsize_t>& out_dims,
                  const std::vector<Out>& out) {
  write_parts(path, [&](Hdf5File& file, const std::string& part) {
    file.put(part + "images", in_dims, in);
    file.put(part + (std::is_floating_point_v<Out> ? "values" : "labels"), out_dims, out);
  });
}

}  // namespace spire
