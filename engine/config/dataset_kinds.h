// Table of the datasets that data.name may say, with what the keys of data depend on. The functions
// that open them are in engine/data/dataset_table.h, in the same order.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline config {

struct DatasetKind {
  std::string_view name;
  bool in_files;  // data.path applies; else samples are generated
  bool images;    // stored images: augmentation and normalization apply
};

inline constexpr std::array dataset_kinds = {
    DatasetKind{.name = "cifar10", .in_files = true, .images = true},
    DatasetKind{.name = "cifar100", .in_files = true, .images = true},
    DatasetKind{.name = "csv", .in_files = true, .images = false},
    DatasetKind{.name = "fashion_mnist", .in_files = true, .images = true},
    DatasetKind{.name = "hdf5", .in_files = true, .images = true},
    DatasetKind{.name = "idx", .in_files = true, .images = true},
    DatasetKind{.name = "image_folder", .in_files = true, .images = true},
    DatasetKind{.name = "synthetic", .in_files = false, .images = false},
    DatasetKind{.name = "tokens", .in_files = true, .images = false},
};

// Returns the kind of this name; null: there is none.
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

}  // namespace spire::inline config
