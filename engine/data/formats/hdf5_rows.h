// Random access to the rows of an HDF5 file from several threads: a single thread reads whole
// chunks into an LRU cache and copies rows out of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/hdf5.h"
#include "engine/data/change_detection.h"
#include "engine/data/formats/hdf5_table.h"
#include "engine/data/formats/serial_executor.h"

namespace spire::inline data {

// LRU cache of blocks of one size. Not thread-safe. Slots take memory when first written.
class BlockCache {
 public:
  static constexpr int64_t max_slots = 4096;  // bounded, since a lookup is a linear search

  // slots: in [1, max_slots]. Throws Error(config) if the memory cannot be reserved.
  BlockCache(int64_t slots, size_t slot_bytes);

  struct Slot {
    std::byte* memory;  // slot_bytes
    bool fresh;         // true: does not have the block's content; fill it, or call forget()
  };
  // Returns the block's slot; a new block takes that of the least recently used one. It stays the
  // block's until `slots` other blocks have been asked for.
  Slot get(int64_t block);
  void forget(int64_t block);

  int64_t slots() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t fills() const { return fills_; }  // fresh slots returned so far

 private:
  size_t slot_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<int64_t> blocks_;  // (slots); -1: empty
  std::vector<uint64_t> used_;   // (slots), clock_ at the last use
  uint64_t clock_ = 0;           // counts calls of get()
  int64_t fills_ = 0;
};

struct Hdf5Options {
  std::string group;        // group in which names that are "auto" are searched
  int64_t cache_bytes = 0;  // largest size of the cache
  int64_t window = 1;       // chunks whose rows are read in random order; the cache must hold them
  int64_t max_slots = 1;    // largest size of the cache, in chunks
  int64_t max_rows = 1;     // most rows of one fetch()
};

class Hdf5Rows {  // the rows of one split, input and target; thread-safe
 public:
  // Opens the file on the executor's thread. Throws Error(data) for defects of the file,
  // Error(config) if cache_bytes are too small for `window` chunks.
  Hdf5Rows(std::shared_ptr<SerialExecutor> executor, const std::filesystem::path& file,
           const ArrayNames& names, const Hdf5Options& options);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;
  Hdf5Rows& operator=(const Hdf5Rows&) = delete;

  // Copies row samples[r] of column c to columns[c] + r * row_bytes, for at most max_rows samples.
  // Allocates nothing, except within libhdf5. After Error(data) the columns are partly written.
  void fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns);

  // Calls body(table) on the executor's thread, which holds an h5::Session, and waits.
  template <typename Body>
  void with_table(const Body& body) {
    executor_->run([&] {
      h5::Session session;
      body(*table_);
    });
  }

  int64_t count() const { return count_; }
  const std::vector<Column>& columns() const { return columns_; }
  double unit() const { return unit_; }               // as RowTable::unit()
  int64_t block_rows() const { return block_rows_; }  // number of rows that are read together
  int64_t blocks_read() const { return cache_->fills(); }
  const std::string& location(size_t column) const { return locations_[column]; }
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

 private:
  void open(const std::filesystem::path& file, const ArrayNames& names, const Hdf5Options& options);
  void copy_rows(std::span<const int64_t> samples, std::span<std::byte* const> columns);
  const std::byte* block(int64_t index);

  std::shared_ptr<SerialExecutor> executor_;
  std::unique_ptr<Hdf5Table> table_;
  std::unique_ptr<BlockCache> cache_;
  std::vector<size_t> order_;  // rows of the current fetch(), sorted by sample
  std::vector<Column> columns_;
  std::vector<std::string> locations_;
  FileStamp stamp_;
  int64_t count_ = 0, block_rows_ = 0;
  double unit_ = 1;
};

}  // namespace spire::inline data
