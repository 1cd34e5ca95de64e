// HDF5 files with training and test splits, for tests that open them as datasets.
#pragma once
#include "engine/data/dataset.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/numbered.h"

namespace spire {

inline DataConfig config_of(const std::filesystem::path& file) {
  DataConfig config;
  config.name = "hdf5";
  config.path = file.string();
  return config;
}

inline constexpr int64_t side = 5;

// Writes numbered images to both splits, in chunks, compressed at level `gzip`.
inline void write_images(const std::filesystem::path& path, int64_t count, hsize_t chunk,
                         unsigned gzip = 0) {
  LabelledImages images = numbered(count, side);
  std::vector<int64_t> labels(images.labels.begin(), images.labels.end());
  auto n = static_cast<hsize_t>(count);
  Hdf5File file(path);
  for (const char* split : {"train", "test"}) {
    std::string prefix = split;
    file.put(prefix + "/images", {n, side, side, 1}, images.pixels, chunk, gzip);
    file.put(prefix + "/labels", {n}, labels);
  }
}

template <typename In, typename Out>
void write_splits(const std::filesystem::path& path, const std::vector<hsize_t>& in_dims,
                  const std::vector<In>& in, const std::vector<hsize_t>& out_dims,
                  const std::vector<Out>& out) {
  Hdf5File file(path);
  for (const char* split : {"train", "test"}) {
    file.put(std::string(split) + "/images", in_dims, in);
    bool values = std::is_floating_point_v<Out>;
    file.put(std::string(split) + (values ? "/values" : "/labels"), out_dims, out);
  }
}

}  // namespace spire
