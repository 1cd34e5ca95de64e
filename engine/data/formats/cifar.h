// Reader of CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html), plain or gzip. A record is
// one or two label bytes, then pixels (3, 32, 32), red plane first.
#pragma once
#include <filesystem>
#include <span>

#include "engine/data/images/image_dataset.h"

namespace spire {

struct CifarLabels {
  std::vector<int64_t> classes;  // number of classes of each label byte
  size_t used = 0;               // index of the label byte to use
};

// Returns all records, with pixels (N, 32, 32, 3). Throws Error(data), naming file and byte.
LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels);

// Returns a file's lines; none if it is missing. Throws Error(data) unless there are `classes`.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t classes);

}  // namespace spire
