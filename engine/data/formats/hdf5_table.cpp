#include "engine/data/formats/hdf5_table.h"

#include <algorithm>
#include <array>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;
namespace fs = std::filesystem;

constexpr int max_rank = 4;
constexpr int64_t max_row_bytes = int64_t{1} << 30;
constexpr uint64_t max_chunk_bytes = uint64_t{256} << 20;  // as libhdf5 decodes whole chunks
constexpr uint64_t max_compression = 1 << 15;  // bound of the bytes that filters make of one

Numbers numbers_of(hid_t dataset, const std::string& location) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      if (H5Tget_sign(type) != H5T_SGN_NONE || H5Tget_size(type) > 2) return Numbers::integers;
      return H5Tget_size(type) == 1 ? Numbers::bytes : Numbers::words16;
    case H5T_FLOAT:
      return Numbers::floats;
    default:
      fail(Category::data, "{}: contains neither integers nor floating-point numbers", location);
  }
}

bool fits_f32(hid_t dataset) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  return H5Tget_size(type) <= (H5Tget_class(type) == H5T_FLOAT ? 4 : 2);
}

// A predefined type of libhdf5, which is never closed.
hid_t memory_type(DType dtype) {
  if (dtype == DType::u8) return H5T_NATIVE_UINT8;
  if (dtype == DType::i32) return H5T_NATIVE_INT32;
  return dtype == DType::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

// Refuses data stored in other files, and chunks too large for memory.
void check_layout(hid_t creation, size_t element_bytes, const std::string& location) {
  H5D_layout_t layout = check(H5Pget_layout(creation), "read the layout");
  if (layout == H5D_VIRTUAL || check(H5Pget_external_count(creation), "read the layout") > 0)
    fail(Category::data,
         "{}: its numbers are in other files; copy them into this one, with h5py's "
         "create_dataset(name, data=dataset[:])",
         location);
  if (layout != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  int rank = check(H5Pget_chunk(creation, H5S_MAX_RANK, dims.data()), "read the layout");
  uint64_t bytes = element_bytes;
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(bytes, dims[static_cast<size_t>(axis)], &bytes) ||
        bytes > max_chunk_bytes)
      fail(Category::data,
           "{}: chunks of over {} MiB; make smaller ones, with h5repack -l CHUNK=... or h5py's "
           "chunks=...",
           location, max_chunk_bytes >> 20);
}

// Returns `name`; for auto the first known name that the group has, or known[0] where it has none.
std::string chosen(const Hdf5LinkResolver& within, const std::string& name,
                   const std::string& group, std::initializer_list<const char*> known) {
  if (name != "auto") return name;
  for (const char* each : known)
    if (within.has(group + "/" + each)) return group + "/" + each;
  return group + "/" + *known.begin();
}

std::string group_of(const std::string& name) {
  size_t end = name.rfind('/');
  return end == name.npos || end == 0 ? "/" : name.substr(0, end);
}

// Returns the size of libhdf5's chunk cache for a target: its chunks may span far more rows than
// those of the input, and would be decoded again for each block of the input.
size_t cache_bytes(hid_t creation, size_t element_bytes) {
  std::array<hsize_t, max_rank> dims{};
  constexpr size_t least = size_t{1} << 20, most = size_t{64} << 20;
  size_t bytes = element_bytes;
  int rank =
      H5Pget_layout(creation) == H5D_CHUNKED ? H5Pget_chunk(creation, max_rank, dims.data()) : 0;
  for (int axis = 0; axis < std::min(rank, max_rank); ++axis) {
    hsize_t dim = dims[static_cast<size_t>(axis)];
    bytes = dim > most / std::max<size_t>(1, bytes) ? most : bytes * dim;
  }
  return std::max(least, bytes);
}

// Returns whether decoding by the filter is safe whatever a chunk holds. libhdf5's n-bit and
// scale-offset are not: they return uninitialized memory where a file's settings do not fit its
// numbers. Filters of h5py, such as lzf, are not part of this libhdf5.
bool is_read(H5Z_filter_t filter) {
  constexpr std::array known = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                H5Z_FILTER_SZIP};
  return std::ranges::find(known, filter) != known.end() && H5Zfilter_avail(filter) > 0;
}

void check_filters(hid_t creation, const std::string& location) {
  int filters = check(H5Pget_nfilters(creation), "read the filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    std::array<char, 64> name{};
    size_t values = 0;
    unsigned flags = 0, config = 0;
    H5Z_filter_t filter = check(H5Pget_filter2(creation, i, &flags, &values, nullptr,
                                               name.size() - 1, name.data(), &config),
                                "read the filters");
    if (!is_read(filter))
      fail(Category::data,
           "{}: is packed by the filter {} ('{}'), which this program does not read; write it with "
           "gzip, in h5py with compression='gzip'",
           location, filter, name.data());
  }
}

}  // namespace

Hdf5Table::Hdf5Table(const fs::path& file, const ArrayNames& names, const std::string& group)
    : path_(file),
      file_(open_hdf5_file(file)),
      stamp_(stamp_of_hdf5(file_, file)),
      links_(std::make_unique<Hdf5LinkResolver>(file_, file)),
      names_{chosen(*links_, names.input, group, {"images", "features", "tokens"}),
             chosen(*links_, names.target, group,
                    {"labels", "values", "targets", "target_images", "masks"})} {
  translate_hdf5_errors(path_, [&] {
    std::vector<StoredArray> arrays;
    for (size_t column : {0, 1}) {
      datasets_.push_back(open_dataset(names_[column]));
      arrays.push_back(describe(column));
    }
    RowColumns found = row_columns(arrays[0], arrays[1]);
    columns_ = {found.input, found.target};
    unit_ = found.unit;
  });
}

std::string Hdf5Table::location(size_t column) const {
  return fmt::format("{}: {}", path_.string(), names_[column]);
}

std::set<std::string> Hdf5Table::datasets_beside() const {
  std::set<std::string> found;
  for (const std::string& name : names_)
    for (std::string& other : links_->datasets_in(group_of(name))) found.insert(std::move(other));
  return found;
}

std::set<std::string> Hdf5Table::used_datasets() const {
  std::set<std::string> found;
  for (const std::string& name : names_) found.insert(name.substr(name.starts_with('/') ? 1 : 0));
  return found;
}

// Checks the dataset, closes it and opens it anew: libhdf5 sets a cache on the first open handle
// only.
Handle Hdf5Table::open_dataset(const std::string& name) const {
  ChunkCache cache = check_dataset(name);
  return links_->open_dataset(name, cache);
}

// Refuses unsupported layouts and filters; returns the chunk cache for the dataset.
ChunkCache Hdf5Table::check_dataset(const std::string& name) const {
  Handle dataset = links_->open_dataset(name);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + name);
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + name);
  std::string location = fmt::format("{}: {}", path_.string(), name);
  check_layout(creation, H5Tget_size(type), location);
  check_filters(creation, location);
  if (datasets_.empty()) return {};  // Hdf5Rows caches the input's chunks
  return {.slots = 521 /* libhdf5's default */, .bytes = cache_bytes(creation, H5Tget_size(type))};
}

// Checks the dataset's shape, and notes the numbers of rows.
StoredArray Hdf5Table::describe(size_t column) {
  hid_t dataset = datasets_[column];
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + names_[column]);
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > max_rank)
    fail(Category::data, "{}: has {} dimensions, expected 1 to {}", location(column), rank,
         max_rank);
  std::array<hsize_t, max_rank> dims{};
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
  check_storage(column, rank, dims.data());
  guards_.push_back(std::make_unique<Hdf5ChunkGuard>(dataset, location(column)));
  if (column == 1 && static_cast<int64_t>(dims[0]) != count_)
    fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set", location(1),
         dims[0], names_[0], count_);
  if (column == 0) note_rows(dims);
  return {.location = location(column),
          .numbers = numbers_of(dataset, location(column)),
          .exact = fits_f32(dataset),
          .row = {dims.begin() + 1, dims.begin() + rank}};
}

// Notes how many rows the input has, and how many of them a chunk.
void Hdf5Table::note_rows(std::span<const hsize_t> dims) {
  count_ = static_cast<int64_t>(dims[0]);
  Handle creation(H5Dget_create_plist(datasets_[0]), H5Pclose, "read the layout");
  if (H5Pget_layout(creation) != H5D_CHUNKED) return;
  std::array<hsize_t, max_rank> chunk{};
  check(H5Pget_chunk(creation, max_rank, chunk.data()), "read the layout");
  chunk_rows_ = static_cast<int64_t>(std::min(chunk[0], dims[0]));
}

// Refuses shapes that the file's size cannot account for, before memory is allocated for them.
void Hdf5Table::check_storage(size_t column, int rank, const hsize_t* dims) const {
  uint64_t row = 8;  // bytes, from the largest element in memory
  for (int axis = 1; axis < rank; ++axis)
    if (dims[axis] == 0 || __builtin_mul_overflow(row, dims[axis], &row) || row > max_row_bytes)
      fail(Category::data, "{}: dimension {} is {}; the file is damaged or is not a set of samples",
           location(column), axis, dims[axis]);
  if (dims[0] == 0) fail(Category::data, "{}: contains no samples", location(column));
  uint64_t total = 0, stored = H5Dget_storage_size(datasets_[column]);
  if (__builtin_mul_overflow(row, dims[0], &total) || total / max_compression > stored)
    fail(Category::data,
         "{}: has {} rows, but the file contains {} bytes of them; get an intact copy",
         location(column), dims[0], stored);
}

void Hdf5Table::read_chunk_index() const {
  translate_hdf5_errors(path_, [&] {
    for (size_t column : {0, 1}) {
      hid_t dataset = datasets_[column];
      Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
      Handle all(H5Dget_space(dataset), H5Sclose, "read the shape");
      hsize_t chunks = 0;
      if (H5Pget_layout(creation) == H5D_CHUNKED)
        check(H5Dget_num_chunks(dataset, all, &chunks), "read chunks of " + names_[column]);
    }
  });
}

void Hdf5Table::read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const {
  // libhdf5 reads zeros or nonsense from a file that was truncated or written: that error is
  // reported before any other.
  auto check_stamp = [&] { require_unchanged(path_, stamp_, stamp_of_hdf5(file_, path_)); };
  try {
    for (size_t column : {0, 1})
      if (columns[column] != nullptr) read_column(column, first, rows, columns[column]);
  } catch (const Error&) {
    check_stamp();
    throw;
  }
  check_stamp();
}

void Hdf5Table::read_column(size_t column, int64_t first, int64_t rows, std::byte* out) const {
  translate_hdf5_errors(path_, [&] {
    guards_[column]->require_bounded(first, rows);
    std::string what =
        fmt::format("read rows {} to {} of {}", first, first + rows - 1, names_[column]);
    Handle from(H5Dget_space(datasets_[column]), H5Sclose, what);
    std::array<hsize_t, max_rank> start{}, extent{};
    check(H5Sget_simple_extent_dims(from, extent.data(), nullptr), what);
    start[0] = static_cast<hsize_t>(first);
    extent[0] = static_cast<hsize_t>(rows);
    check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
          what);
    int rank = check(H5Sget_simple_extent_ndims(from), what);
    Handle to(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose, what);
    hid_t type = memory_type(columns_[column].dtype);
    check(H5Dread(datasets_[column], type, to, from, H5P_DEFAULT, out), what);
  });
}

}  // namespace spire::inline data
