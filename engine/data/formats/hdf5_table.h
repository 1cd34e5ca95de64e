// Table in an HDF5 file: two named datasets, input and target, with one row per sample.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/base/hdf5.h"
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/row_table.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"

namespace spire {

// One dataset of an HDF5 file, with one row per sample.

struct Hdf5Layout {                  // how a dataset is stored, as its header says
  std::vector<hsize_t> dims, chunk;  // shapes of the dataset and of a chunk; no chunks: empty
  std::vector<std::pair<H5Z_filter_t, std::string>> filters;  // of chunks, in their order
  H5T_class_t type = H5T_NO_CLASS;                            // of the numbers
  bool natural = false;                                       // integers without a sign
  size_t element_bytes = 0;
  bool elsewhere = false;  // the numbers are in other files

  uint64_t chunk_bytes() const;  // of a decoded chunk; without chunks: of an element; saturated
  bool is_packed() const;        // chunks are packed by gzip
};

// Not thread-safe. Needs an h5::Session, also in its destructor. Errors name the dataset.
class Hdf5Array {
 public:
  enum class Cache { none, chunks };  // what libhdf5 keeps of decoded chunks

  // Throws Error(data) for layouts, filters and types that are not read, and shapes that the file's
  // size cannot account for.
  Hdf5Array(const Hdf5LinkResolver& links, const std::filesystem::path& file, std::string name,
            Cache cache);

  const std::string& name() const { return name_; }
  const std::string& location() const { return location_; }  // "FILE: DATASET"
  int64_t rows() const { return static_cast<int64_t>(layout_.dims[0]); }
  int64_t chunk_rows() const;  // 0 if it is not chunked
  StoredArray stored() const;

  // Reads rows [first, first + rows) as numbers of `dtype`, i32 (saturated), u8, f32 or f64. Throws
  // Error(data), naming the rows, if a gzip chunk of them inflates to more than a chunk has.
  void read(int64_t first, int64_t rows, DType dtype, std::byte* out) const;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  // Returns "train/images: uint8 (60000, 28, 28, 1), chunks of (64, 28, 28, 1), deflate, 9 bytes".
  std::string layout() const;
  // Return an attribute; empty if it is missing.
  std::vector<double> numbers(const char* attribute) const;
  std::vector<std::string> words(const char* attribute) const;

 private:
  static constexpr size_t max_rank = 4;
  using Offset = std::array<hsize_t, max_rank>;  // of a chunk's first element

  void require_bounded(int64_t first, int64_t rows) const;
  void check_chunk(const Offset& offset) const;
  bool next_in_row(Offset& offset) const;
  std::optional<h5::Handle> open_attribute(const char* name) const;

  std::filesystem::path path_;
  std::string name_, location_;
  Hdf5Layout layout_;
  h5::Handle dataset_;
  mutable std::set<Offset> checked_;     // suspicious chunks that were inflated and found good
  mutable std::vector<uint8_t> stored_;  // one chunk as stored in the file
};

// Group of row checksums: element i of dataset "xxh3/<name>" is the hash64 of rows
// [i * R, (i + 1) * R) of dataset <name>; its attribute `rows` is R.
inline constexpr const char* hdf5_checksum_group = "xxh3/";

bool is_hdf5(const std::filesystem::path& path);  // whether the file begins as HDF5 files do

// Chooses the file's groups for the parts (choose_parts()) among groups that have an input with a
// known name. Without such a group train and test are named "train" and "test", since the config
// may name their arrays.
PartNames hdf5_parts(const std::filesystem::path& file, const ValConfig& val);

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
  // Returns the block's slot; a new block takes over the slot of the least recently used block. A
  // slot stays its block's until `slots` other blocks have been asked for.
  Slot get(int64_t block);
  void forget(int64_t block);

 private:
  size_t slot_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<int64_t> blocks_;  // (slots); -1: empty
  std::vector<uint64_t> used_;   // (slots), clock_ at the last use
  uint64_t clock_ = 0;           // counts calls of get()
};

// Errors name the dataset. Holds an h5::Session while it uses libhdf5, for one block of rows at
// most: so a checkpoint can be written in between.
class Hdf5Table : public RowTable {
 public:
  // Opens the two datasets; integers of tokens, labels and targets are saturated to i32. If a name
  // is "auto", the input is the first of images, features and tokens that `group` contains, and the
  // target the first of labels, values, targets, target_images and masks.
  Hdf5Table(const std::filesystem::path& file, const ArrayNames& names, const std::string& group);
  // Opens samples to predict for, whose target may be missing. For an input name that is "auto", or
  // that the file lacks, it searches the group test, the top of the file, then train; for a target
  // name it searches beside the input. Throws Error(data) for a file without an input.
  Hdf5Table(const std::filesystem::path& file, const ArrayNames& names);
  ~Hdf5Table() override;

  struct BlockOptions {
    int64_t cache_bytes = 0;  // largest size of the cache
    int64_t window = 1;     // chunks whose rows are read in random order; the cache must hold them
    int64_t max_slots = 1;  // largest size of the cache, in chunks
  };
  // Makes fetch() keep whole chunks in a cache. Call it before fetch(). Throws Error(config) if
  // cache_bytes are too small for `window` chunks.
  void keep_blocks(const BlockOptions& options);

  bool has_target() const override { return opened_->arrays.size() > 1; }
  StoredArray stored(size_t column) const override { return opened_->arrays[column].stored(); }
  std::string location(size_t column) const override { return opened_->arrays[column].location(); }
  std::string_view task_key() const override { return "data.hdf5.task"; }
  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened

  std::set<std::string> used_datasets() const;    // names of input and target
  std::set<std::string> datasets_beside() const;  // names of all datasets in their groups

  void read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const override;
  void read_chunk_index() const;  // reads the index of all chunks, but no chunk

  int64_t block_rows() const override { return block_rows_; }
  // Allocates nothing, except within libhdf5. REQUIRES: keep_blocks() was called.
  void fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns) const override;
  int64_t fetch_rows() const override;

  std::vector<std::string> layout() const override;
  std::vector<std::filesystem::path> files() const override { return {path_}; }
  std::optional<RowChecksums> checksums() const override;
  std::vector<double> numbers(size_t column, const char* attribute) const override;
  std::vector<std::string> words(size_t column, const char* attribute) const override;

 private:
  using ChooseNames = std::function<ArrayNames(const Hdf5LinkResolver& links)>;

  // input: what libhdf5 keeps of it. choose: returns the names, of the target "" if there is none.
  Hdf5Table(const std::filesystem::path& file, Hdf5Array::Cache input, const ChooseNames& choose);
  const std::byte* block(int64_t index) const;

  struct Opened {
    explicit Opened(const std::filesystem::path& path)
        : file(open_hdf5_file(path)), links(file, path) {}

    h5::Handle file;
    Hdf5LinkResolver links;
    std::vector<Hdf5Array> arrays = {};  // input and target
  };

  std::filesystem::path path_;
  std::unique_ptr<Opened> opened_;  // changed and destroyed within a session
  FileStamp stamp_;
  int64_t block_rows_ = 1;

  mutable std::mutex mutex_;  // guards the cache and order_
  std::unique_ptr<BlockCache> cache_;
  mutable std::vector<size_t> order_;  // rows of the current fetch(), sorted by sample
};

}  // namespace spire
