#include "engine/data/dataset.h"

#include <algorithm>
#include <numeric>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/dataset_kinds.h"
#include "engine/data/dataset_table.h"

namespace spire::inline data {
namespace {

// The table of engine/config has the same datasets in the same order.
static_assert(std::ranges::equal(dataset_table, dataset_kinds, {}, &DatasetEntry::name,
                                 &DatasetKind::name));

// Augmentation applies to image datasets only; conversion and inspection ignore it.
DatasetPair open_entry(const DatasetEntry& entry, const DataConfig& config,
                       const ReadOptions& options) {
  if (options.stored && config.augment != AugmentConfig{}) {
    DataConfig plain = config;
    plain.augment = {};
    return open_entry(entry, plain, options);
  }
  if (!find_dataset_kind(entry.name)->images && config.augment != AugmentConfig{})
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

// Reads whole samples into memory that is thrown away but for the labels: formats that can do
// better override this.
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

DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options) {
  for (const DatasetEntry& entry : dataset_table)
    if (entry.name == config.name) return open_entry(entry, config, options);
  std::vector<std::string> names = dataset_names([](const DatasetKind&) { return true; });
  fail(Category::config, "data.name: unknown dataset '{}'; must be one of: {}{}", config.name,
       fmt::join(names, ", "), did_you_mean(nearest(config.name, names)));
}

}  // namespace spire::inline data
