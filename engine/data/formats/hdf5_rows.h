// Rows of an HDF5 file by index, for several threads at a time: the thread that owns the library
// reads whole chunks into a bounded cache and copies rows out of it.
#pragma once
#include "engine/data/formats/block_cache.h"
#include "engine/data/formats/hdf5_table.h"
#include "engine/data/formats/owner_thread.h"

namespace spire::inline data {

struct Hdf5Options {
  std::string group;  // of names that are auto
  int64_t cache_bytes = 0;
  int64_t window = 1;     // chunks that are read in turns, so that the cache must hold them
  int64_t max_slots = 1;  // chunks that it may hold
  int64_t max_rows = 1;   // of one fetch()
};

class Hdf5Rows {
 public:
  // Opens the file on the owner. Throws Error(data) for what is wrong with it, Error(config) where
  // the cache is too small for its chunks.
  Hdf5Rows(std::shared_ptr<OwnerThread> owner, const std::filesystem::path& file,
           const Hdf5Half& half, const Hdf5Options& options);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;
  Hdf5Rows& operator=(const Hdf5Rows&) = delete;

  // Row samples[r] of input and target -> columns[c] + r * row_bytes. At most max_rows of them.
  // Any thread may call; nothing is allocated but by libhdf5. Throws Error(data) where the file
  // cannot be read: which rows are written then is not said.
  void fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns);

  // Calls body(table) on the owner.
  template <typename Body>
  void with_table(const Body& body) {
    owner_->run([&] {
      h5::Session session;
      body(*table_);
    });
  }

  int64_t count() const { return count_; }
  const std::vector<Column>& columns() const { return columns_; }
  int64_t block_rows() const { return block_rows_; }  // rows that are read together
  int64_t blocks_read() const { return cache_->fills(); }
  const std::string& place(size_t column) const { return places_[column]; }
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

 private:
  void open(const std::filesystem::path& file, const Hdf5Half& half, const Hdf5Options& options);
  void copy_rows(std::span<const int64_t> samples, std::span<std::byte* const> columns);
  const std::byte* block(int64_t index);

  std::shared_ptr<OwnerThread> owner_;
  std::unique_ptr<Hdf5Table> table_;
  std::unique_ptr<BlockCache> cache_;
  std::vector<size_t> order_;  // of a fetch: its rows, those of a block together
  std::vector<Column> columns_;
  std::vector<std::string> places_;
  FileStamp stamp_;
  int64_t count_ = 0, block_rows_ = 0;
};

}  // namespace spire::inline data
