// HDF5 files as datasets: chooses groups and arrays of the parts, after spire-hdf5-check has read
// the file.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_table.h"
#include "engine/data/formats/row_dataset.h"
#include "engine/data/input_file.h"
#include "engine/data/sampler.h"

namespace spire {
namespace {

constexpr int64_t test_chunks = 8;  // cached: test rows are read in order

// Returns a note that names the datasets beside input and target that are not used; empty: none.
std::vector<std::string> note_unused_datasets(const std::string& path,
                                              const std::vector<const Hdf5Table*>& tables) {
  std::set<std::string> used, present;
  for (const Hdf5Table* table : tables) {
    used.merge(table->used_datasets());
    present.merge(table->datasets_beside());
  }
  std::vector<std::string> unused;
  std::ranges::set_difference(present, used, std::back_inserter(unused));
  if (unused.empty()) return {};
  return {fmt::format("{}: {} not used: this run reads {}", path, quoted_list(unused),
                      quoted_list({used.begin(), used.end()}))};
}

}  // namespace

DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options) {
  Hdf5CheckResult checked = check_hdf5_file(config.path, config.hdf5);
  PartNames parts = hdf5_parts(config.path, config.val);
  // Without shuffle: full a window of chunks is read in turns, which the cache must hold.
  bool together = config.shuffle != DataConfig::Shuffle::full;
  int64_t cache_bytes = config.hdf5.cache_mib << 20;
  std::vector<const Hdf5Table*> tables;
  auto open = [&](const ArrayNames& names, const std::string& group,
                  const Hdf5Table::BlockOptions& blocks) {
    auto table = std::make_unique<Hdf5Table>(config.path, names, group);
    table->infer_columns();
    table->keep_blocks(blocks);
    tables.push_back(table.get());
    return table;
  };
  Hdf5Table::BlockOptions for_training = {.cache_bytes = cache_bytes,
                                          .window = together ? Sampler::window : 1,
                                          .max_slots = BlockCache::max_slots};
  Hdf5Table::BlockOptions for_test = {
      .cache_bytes = cache_bytes, .window = 2, .max_slots = test_chunks};
  RowParts rows;
  rows.train = open(config.hdf5.train, parts.train, for_training);
  rows.test = open(config.hdf5.test, parts.test, for_test);
  if (!parts.val.empty()) rows.val = open(ArrayNames(), parts.val, for_test);
  for (const Hdf5Table* table : tables)
    require_unchanged(config.path, checked.stamp, table->stamp());  // opened is what was checked
  rows.statistics_rows = rows.train->block_rows();
  std::vector<std::string> unused = note_unused_datasets(config.path, tables);
  DatasetPair data =
      open_rows(std::move(rows), config, options, config.hdf5.task, std::move(checked.notes));
  for (auto* more : {&parts.notes, &unused})
    std::ranges::move(*more, std::back_inserter(data.notes));
  return data;
}

}  // namespace spire
