// Table of the datasets that data.name can name, with the properties that decide which other data.*
// keys apply. engine/data/dataset_table.h has the functions that open them, in the same order.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

struct DatasetKind {
  std::string_view name;
  bool in_files;  // read from files at data.path; false: generated
  bool images;    // may have stored images: augmentation and normalization apply
};

inline constexpr std::array dataset_kinds = {
    DatasetKind{.name = "cifar10", .in_files = true, .images = true},
    DatasetKind{.name = "cifar100", .in_files = true, .images = true},
    DatasetKind{.name = "csv", .in_files = true, .images = false},
    DatasetKind{.name = "fashion_mnist", .in_files = true, .images = true},
    DatasetKind{.name = "hdf5", .in_files = true, .images = true},
    DatasetKind{.name = "idx", .in_files = true, .images = true},
    DatasetKind{.name = "image_folder", .in_files = true, .images = true},
    DatasetKind{.name = "image_pairs", .in_files = true, .images = true},
    DatasetKind{.name = "npy", .in_files = true, .images = true},
    DatasetKind{.name = "synthetic", .in_files = false, .images = false},
    DatasetKind{.name = "tokens", .in_files = true, .images = false},
    DatasetKind{.name = "webdataset", .in_files = true, .images = true},
};

// Returns the kind with this name; null if there is none.
constexpr const DatasetKind* find_dataset_kind(std::string_view name) {
  auto found = std::ranges::find(dataset_kinds, name, &DatasetKind::name);
  return found == dataset_kinds.end() ? nullptr : &*found;
}

// Returns the names of the kinds for which `chosen(kind)` holds.
template <typename Chosen>
std::vector<std::string> dataset_names(Chosen chosen) {
  std::vector<std::string> names;
  for (const DatasetKind& kind : dataset_kinds)
    if (chosen(kind)) names.emplace_back(kind.name);
  return names;
}

}  // namespace spire
