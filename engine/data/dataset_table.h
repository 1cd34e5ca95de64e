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
  // If data.path: auto does not work for the dataset: what the message says to set it to. Empty:
  // auto works.
  std::string_view paths = {};
};

inline constexpr std::array dataset_table = {
    DatasetEntry{"cifar10", open_cifar10},
    DatasetEntry{"cifar100", open_cifar100},
    DatasetEntry{"csv", open_csv, "the file, or to the folder of train.csv and test.csv"},
    DatasetEntry{"fashion_mnist", open_fashion_mnist},
    DatasetEntry{"hdf5", open_hdf5, "the file"},
    DatasetEntry{"idx", open_idx, "the folder of the files"},
    DatasetEntry{"image_folder", open_image_folder,
                 "the folder of train and val, or to that of the classes"},
    DatasetEntry{"image_pairs", open_image_pairs,
                 "the folder of input and target, or to a CSV file of path pairs"},
    DatasetEntry{"npy", open_npy},
    DatasetEntry{"synthetic", open_synthetic},
    DatasetEntry{"tokens", open_tokens,
                 "the folder of the shards, or data.tokens.text to text files"},
    DatasetEntry{"webdataset", open_webdataset,
                 "the folder of the shards, or to a pattern such as shards/train-{000..099}.tar"},
};

}  // namespace spire
