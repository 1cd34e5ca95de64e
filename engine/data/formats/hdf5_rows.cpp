#include "engine/data/formats/hdf5_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr int64_t mib = 1 << 20;

// Returns the rows read together: a chunk; of a dataset without chunks about a MiB where the order
// keeps blocks together, else one row.
int64_t block_rows_of(const Hdf5Table& table, const Hdf5Options& options) {
  if (table.chunk_rows() > 0) return table.chunk_rows();
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = options.window > 1 ? mib / row_bytes : 1;
  return std::clamp<int64_t>(rows, 1, table.count());
}

// Returns how many blocks the cache holds: what its bytes allow, a window of them at least.
int64_t slots_of(const Hdf5Table& table, int64_t block_rows, const Hdf5Options& options) {
  int64_t block_bytes = block_rows * static_cast<int64_t>(table.row_bytes());
  int64_t blocks = (table.count() + block_rows - 1) / block_rows;
  int64_t needed = std::min(blocks, options.window);
  if (needed * block_bytes > options.cache_bytes)
    fail(Category::config,
         "data.hdf5.cache_mib: {} MiB are too small for {} chunks of {}, {} MiB each; set {} or "
         "more, or make smaller chunks with trainer dataset convert",
         options.cache_bytes / mib, needed, table.location(0), (block_bytes + mib - 1) / mib,
         (needed * block_bytes + mib - 1) / mib);
  return std::min({blocks, options.cache_bytes / block_bytes, options.max_slots});
}

}  // namespace

Hdf5Rows::Hdf5Rows(std::shared_ptr<SerialExecutor> executor, const std::filesystem::path& file,
                   const ArrayNames& names, const Hdf5Options& options)
    : executor_(std::move(executor)) {
  try {
    executor_->run([&] { open(file, names, options); });
  } catch (...) {
    // What was opened is closed on the thread of libhdf5.
    executor_->run([&] {
      h5::Session session;
      table_.reset();
    });
    throw;
  }
}

Hdf5Rows::~Hdf5Rows() {
  executor_->run([&] {
    h5::Session session;
    table_.reset();
  });
}

void Hdf5Rows::open(const std::filesystem::path& file, const ArrayNames& names,
                    const Hdf5Options& options) {
  h5::Session session;
  table_ = std::make_unique<Hdf5Table>(file, names, options.group);
  count_ = table_->count();
  columns_ = table_->columns();
  stamp_ = table_->stamp();
  unit_ = table_->unit();
  locations_ = {table_->location(0), table_->location(1)};
  block_rows_ = block_rows_of(*table_, options);
  cache_ = std::make_unique<BlockCache>(slots_of(*table_, block_rows_, options),
                                        static_cast<size_t>(block_rows_) * table_->row_bytes());
  order_.reserve(static_cast<size_t>(options.max_rows));
}

void Hdf5Rows::fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns) {
  require(samples.size() <= order_.capacity(), "Hdf5Rows: {} rows at once", samples.size());
  executor_->run([&] { copy_rows(samples, columns); });
}

void Hdf5Rows::copy_rows(std::span<const int64_t> samples, std::span<std::byte* const> columns) {
  // Sorted by sample, so that each block is looked up in one run.
  order_.resize(samples.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::sort(order_, {}, [&](size_t row) { return samples[row]; });
  for (size_t row : order_) {
    // A block is the target's rows, then the input's.
    const std::byte* from = block(samples[row] / block_rows_);
    auto at = static_cast<size_t>(samples[row] % block_rows_);
    for (size_t c : {1, 0}) {
      size_t bytes = columns_[c].row_bytes();
      std::memcpy(columns[c] + row * bytes, from + at * bytes, bytes);
      from += static_cast<size_t>(block_rows_) * bytes;
    }
  }
}

// Returns a block from the cache: rows of the target, then rows of the input.
const std::byte* Hdf5Rows::block(int64_t index) {
  BlockCache::Slot found = cache_->get(index);
  if (!found.fresh) return found.memory;
  int64_t first = index * block_rows_;
  std::array<std::byte*, 2> columns = {
      found.memory + static_cast<size_t>(block_rows_) * columns_[1].row_bytes(), found.memory};
  try {
    h5::Session session;  // per block: the session excludes a checkpoint that is being written
    table_->read(first, std::min(block_rows_, count_ - first), columns);
  } catch (...) {
    cache_->forget(index);
    throw;
  }
  return found.memory;
}

BlockCache::BlockCache(int64_t slots, size_t slot_bytes)
    : slot_bytes_(slot_bytes),
      blocks_(static_cast<size_t>(slots), -1),
      used_(static_cast<size_t>(slots), 0) {
  require(slots >= 1 && slots <= max_slots, "BlockCache: {} slots", slots);
  auto count = static_cast<size_t>(slots);
  try {
    memory_.reset(new std::byte[count * slot_bytes]);  // uninitialized: touches no page
  } catch (const std::bad_alloc&) {
    fail(Category::config, "cannot allocate {} blocks of {} bytes; lower data.hdf5.cache_mib",
         slots, slot_bytes);
  }
}

BlockCache::Slot BlockCache::get(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  bool fresh = found == blocks_.end();
  // Evicts the least recently used; empty slots have clock 0 and come first.
  if (fresh) found = blocks_.begin() + (std::ranges::min_element(used_) - used_.begin());
  auto slot = static_cast<size_t>(found - blocks_.begin());
  blocks_[slot] = block;
  used_[slot] = ++clock_;
  fills_ += fresh ? 1 : 0;
  return {memory_.get() + slot * slot_bytes_, fresh};
}

void BlockCache::forget(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  if (found == blocks_.end()) return;
  *found = -1;
  used_[static_cast<size_t>(found - blocks_.begin())] = 0;
}

}  // namespace spire::inline data
