// Table of all datasets that data.name may say, with the functions that open them. A new dataset
// is a row here, a .cpp beside it, a choice of data.name in engine/config/schema_data.cpp, a test
// and a section in docs/formats.md.
#pragma once
#include <array>
#include <string_view>

#include "engine/data/dataset.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/text/token_dataset.h"

namespace spire::inline data {

// Defined, with their file formats, in formats/cifar.cpp, csv_dataset.cpp, idx.cpp (also for
// fashion_mnist) and hdf5_dataset.cpp, and in synthetic_dataset.cpp.
DatasetPair open_cifar10(const DataConfig& config, const ReadOptions& options);
DatasetPair open_cifar100(const DataConfig& config, const ReadOptions& options);
DatasetPair open_csv(const DataConfig& config, const ReadOptions& options);
DatasetPair open_fashion_mnist(const DataConfig& config, const ReadOptions& options);
DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options);
DatasetPair open_idx(const DataConfig& config, const ReadOptions& options);
DatasetPair open_synthetic(const DataConfig& config, const ReadOptions& options);

struct DatasetEntry {
  std::string_view name;
  DatasetPair (*open)(const DataConfig& config, const ReadOptions& options);
  bool augments;  // data.augment applies
};

inline constexpr std::array dataset_table = {
    DatasetEntry{"cifar10", open_cifar10, true},
    DatasetEntry{"cifar100", open_cifar100, true},
    DatasetEntry{"csv", open_csv, false},
    DatasetEntry{"fashion_mnist", open_fashion_mnist, true},
    DatasetEntry{"hdf5", open_hdf5, true},
    DatasetEntry{"idx", open_idx, true},
    DatasetEntry{"image_folder", open_image_folder, true},
    DatasetEntry{"synthetic", open_synthetic, false},
    DatasetEntry{"tokens", open_tokens, false},
};

}  // namespace spire::inline data
