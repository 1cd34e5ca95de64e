#include "engine/data/dataset.h"

#include <array>
#include <numeric>
#include <string_view>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/formats/cifar_dataset.h"
#include "engine/data/formats/csv_dataset.h"
#include "engine/data/formats/hdf5_dataset.h"
#include "engine/data/formats/idx_dataset.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/synthetic_dataset.h"
#include "engine/data/text/token_dataset.h"

namespace spire::inline data {
namespace {

struct Entry {
  std::string_view name;
  DatasetPair (*open)(const DataConfig& config, const ReadOptions& options);
  bool augments;  // data.augment applies
};

constexpr std::array table = {
    Entry{"cifar10", open_cifar10, true},
    Entry{"cifar100", open_cifar100, true},
    Entry{"csv", open_csv, false},
    Entry{"fashion_mnist", open_fashion_mnist, true},
    Entry{"hdf5", open_hdf5, true},
    Entry{"idx", open_idx, true},
    Entry{"image_folder", open_image_folder, true},
    Entry{"synthetic", open_synthetic, false},
    Entry{"tokens", open_tokens, false},
};

DatasetPair open_entry(const Entry& entry, const DataConfig& config, const ReadOptions& options) {
  if (options.stored && config.augment != AugmentConfig{}) {
    DataConfig plain = config;
    plain.augment = {};
    return open_entry(entry, plain, options);
  }
  if (!entry.augments && config.augment != AugmentConfig{})
    fail(Category::config,
         "data.augment: needs stored images, which data.name: {} does not have; remove the keys of "
         "data.augment",
         entry.name);
  return entry.open(config, options);
}

}  // namespace

std::string Dataset::first_problem() const {
  std::vector<std::string> all = problems();
  return all.empty() ? "" : all.front();
}

void Dataset::read_labels(int64_t first, std::span<int32_t> out) const {
  std::vector<int64_t> samples(out.size());
  std::iota(samples.begin(), samples.end(), first);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> columns;
  for (const Column& column : spec().columns) {
    if (column.name == "labels") {
      columns.push_back(reinterpret_cast<std::byte*>(out.data()));
    } else {
      columns.push_back(memory.emplace_back(samples.size() * column.row_bytes()).data());
    }
  }
  read(samples, 0, columns);
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table) names.emplace_back(entry.name);
  return names;
}

DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options) {
  for (const Entry& entry : table)
    if (entry.name == config.name) return open_entry(entry, config, options);
  fail(Category::config, "data.name: unknown dataset '{}'; must be one of: {}{}", config.name,
       fmt::join(dataset_names(), ", "), did_you_mean(nearest(config.name, dataset_names())));
}

}  // namespace spire::inline data
