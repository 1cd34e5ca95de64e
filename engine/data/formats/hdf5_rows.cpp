#include "engine/data/formats/hdf5_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr int64_t mib = 1 << 20;

// How many rows are read together: a chunk; of a file without chunks about a MiB where the order
// keeps such blocks together, else one row.
int64_t block_rows_of(const Hdf5Table& table, const Hdf5Options& options) {
  if (table.chunk_rows() > 0) return table.chunk_rows();
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = options.window > 1 ? mib / row_bytes : 1;
  return std::clamp<int64_t>(rows, 1, table.count());
}

int64_t slots_of(const Hdf5Table& table, int64_t block_rows, const Hdf5Options& options) {
  int64_t block_bytes = block_rows * static_cast<int64_t>(table.row_bytes());
  int64_t blocks = (table.count() + block_rows - 1) / block_rows;
  int64_t needed = std::min(blocks, options.window);
  if (needed * block_bytes > options.cache_bytes)
    fail(Category::config,
         "data.hdf5.cache_mib: {} MiB are too small for {} chunks of {}, {} MiB each; set {} or "
         "more, or make smaller chunks with trainer dataset convert",
         options.cache_bytes / mib, needed, table.place(0), (block_bytes + mib - 1) / mib,
         (needed * block_bytes + mib - 1) / mib);
  return std::min({blocks, options.cache_bytes / block_bytes, options.max_slots});
}

}  // namespace

Hdf5Rows::Hdf5Rows(std::shared_ptr<OwnerThread> owner, const std::filesystem::path& file,
                   const Hdf5Half& half, const Hdf5Options& options)
    : owner_(std::move(owner)) {
  try {
    owner_->run([&] { open(file, half, options); });
  } catch (...) {
    owner_->run([&] {
      h5::Session session;
      table_.reset();
    });
    throw;
  }
}

Hdf5Rows::~Hdf5Rows() {
  owner_->run([&] {
    h5::Session session;
    table_.reset();
  });
}

void Hdf5Rows::open(const std::filesystem::path& file, const Hdf5Half& half,
                    const Hdf5Options& options) {
  h5::Session session;
  table_ = std::make_unique<Hdf5Table>(file, half, options.group);
  count_ = table_->count();
  columns_ = table_->columns();
  stamp_ = table_->stamp();
  places_ = {table_->place(0), table_->place(1)};
  block_rows_ = block_rows_of(*table_, options);
  cache_ = std::make_unique<BlockCache>(slots_of(*table_, block_rows_, options),
                                        static_cast<size_t>(block_rows_) * table_->row_bytes());
  order_.reserve(static_cast<size_t>(options.max_rows));
}

void Hdf5Rows::fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns) {
  require(samples.size() <= order_.capacity(), "Hdf5Rows: {} rows at once", samples.size());
  owner_->run([&] { copy_rows(samples, columns); });
}

void Hdf5Rows::copy_rows(std::span<const int64_t> samples, std::span<std::byte* const> columns) {
  order_.resize(samples.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::sort(order_, {}, [&](size_t row) { return samples[row]; });
  for (size_t row : order_) {
    const std::byte* from = block(samples[row] / block_rows_);
    auto at = static_cast<size_t>(samples[row] % block_rows_);
    for (size_t c : {1, 0}) {
      size_t bytes = columns_[c].row_bytes();
      std::memcpy(columns[c] + row * bytes, from + at * bytes, bytes);
      from += static_cast<size_t>(block_rows_) * bytes;
    }
  }
}

// The block's rows of the target, then those of the input.
const std::byte* Hdf5Rows::block(int64_t index) {
  BlockCache::Found found = cache_->get(index);
  if (!found.fresh) return found.memory;
  int64_t first = index * block_rows_;
  std::array<std::byte*, 2> columns = {
      found.memory + static_cast<size_t>(block_rows_) * columns_[1].row_bytes(), found.memory};
  try {
    h5::Session session;  // a checkpoint may be written meanwhile
    table_->read(first, std::min(block_rows_, count_ - first), columns);
  } catch (...) {
    cache_->forget(index);
    throw;
  }
  return found.memory;
}

}  // namespace spire::inline data
