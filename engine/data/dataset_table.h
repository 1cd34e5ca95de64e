// Table of the datasets that data.name may name, and how to open them. A new one needs a row here
// and in engine/config/dataset_kinds.h, a .cpp file here, a test and a section in docs/formats.md.
#pragma once
#include <array>
#include <string_view>

#include "engine/data/dataset.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/images/image_pairs.h"
#include "engine/data/text/token_dataset.h"

namespace spire {

// These functions are defined in cifar.cpp, hdf5_dataset.cpp, idx.cpp (which also has
// fashion_mnist) and webdataset.cpp of the folder formats, in tables/csv_dataset.cpp, in
// numpy/npy_dataset.cpp, and in synthetic_dataset.cpp.
DatasetPair open_cifar10(const DataConfig& config, const ReadOptions& options);
DatasetPair open_cifar100(const DataConfig& config, const ReadOptions& options);
DatasetPair open_csv(const DataConfig& config, const ReadOptions& options);
DatasetPair open_fashion_mnist(const DataConfig& config, const ReadOptions& options);
DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options);
DatasetPair open_idx(const DataConfig& config, const ReadOptions& options);
DatasetPair open_npy(const DataConfig& config, const ReadOptions& options);
DatasetPair open_synthetic(const DataConfig& config, const ReadOptions& options);
DatasetPair open_webdataset(const DataConfig& config, const ReadOptions& options);

struct DatasetEntry {
  std::string_view name;
  DatasetPair (*open)(const DataConfig& config, const ReadOptions& options);
};

inline constexpr std::array dataset_table = {
    DatasetEntry{"cifar10", open_cifar10},
    DatasetEntry{"cifar100", open_cifar100},
    DatasetEntry{"csv", open_csv},
    DatasetEntry{"fashion_mnist", open_fashion_mnist},
    DatasetEntry{"hdf5", open_hdf5},
    DatasetEntry{"idx", open_idx},
    DatasetEntry{"image_folder", open_image_folder},
    DatasetEntry{"image_pairs", open_image_pairs},
    DatasetEntry{"npy", open_npy},
    DatasetEntry{"synthetic", open_synthetic},
    DatasetEntry{"tokens", open_tokens},
    DatasetEntry{"webdataset", open_webdataset},
};

}  // namespace spire
