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
constexpr uint64_t max_chunk_bytes = uint64_t{256} << 20;  // libhdf5 decodes whole ones
constexpr uint64_t max_compression = 1 << 15;  // filters make of a byte no more than this

enum class Numbers { bytes, integers, floats };

Numbers numbers_of(hid_t dataset, const std::string& place) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE ? Numbers::bytes
                                                                         : Numbers::integers;
    case H5T_FLOAT:
      return Numbers::floats;
    default:
      fail(Category::data, "{}: contains neither integers nor floating-point numbers", place);
  }
}

bool fits_f32(hid_t dataset) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  return H5Tget_size(type) <= (H5Tget_class(type) == H5T_FLOAT ? 4 : 2);
}

// What this program does not follow, and chunks that no memory holds.
void check_layout(hid_t creation, size_t element_bytes, const std::string& place) {
  H5D_layout_t layout = check(H5Pget_layout(creation), "read the layout");
  if (layout == H5D_VIRTUAL || check(H5Pget_external_count(creation), "read the layout") > 0)
    fail(Category::data,
         "{}: its numbers are in other files; copy them into this one, with h5py's "
         "create_dataset(name, data=dataset[:])",
         place);
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
           place, max_chunk_bytes >> 20);
}

// `name`, or for auto the first of those in the group; when there is none, the first one.
std::string chosen(const Hdf5Names& within, const std::string& name, const std::string& group,
                   std::initializer_list<const char*> known) {
  if (name != "auto") return name;
  for (const char* each : known)
    if (within.has(group + "/" + each)) return group + "/" + each;
  return group + "/" + *known.begin();
}

std::string group_of(const std::string& name) {
  size_t end = name.rfind('/');
  return end == name.npos || end == 0 ? "/" : name.substr(0, end);
}

// Bytes of libhdf5's cache of chunks: room for some of a target, which may be far longer than those
// of the input.
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

// Of filters whose reading is safe whatever a chunk holds. Others are h5py's own, such as lzf,
// which this libhdf5 lacks; of libhdf5's own, n-bit and scale-offset hand out memory that they
// never wrote where a file's settings do not fit its numbers.
bool is_read(H5Z_filter_t filter) {
  constexpr std::array known = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                H5Z_FILTER_SZIP};
  return std::ranges::find(known, filter) != known.end() && H5Zfilter_avail(filter) > 0;
}

void check_filters(hid_t creation, const std::string& place) {
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
           place, filter, name.data());
  }
}

}  // namespace

Hdf5Table::Hdf5Table(const fs::path& file, const Hdf5Half& half, const std::string& group)
    : path_(file),
      file_(open_hdf5_data(file)),
      stamp_(stamp_of_hdf5(file_, file)),
      within_(std::make_unique<Hdf5Names>(file_, file)),
      names_{chosen(*within_, half.input, group, {"images", "features", "tokens"}),
             chosen(*within_, half.target, group, {"labels", "values", "targets"})} {
  in_hdf5_file(path_, [&] {
    for (size_t column : {0, 1}) {
      datasets_.push_back(open_dataset(names_[column]));
      describe(column);
    }
    bool whole = numbers_of(datasets_[0], place(0)) != Numbers::floats;
    if (columns_[1].name == "targets" && columns_[0].name == "features" && whole)
      columns_[0] = {"tokens", columns_[0].shape, DType::i32}, memory_types_[0] = H5T_NATIVE_INT32;
    if (columns_[1].name == "targets" && columns_[0].shape != columns_[1].shape)
      fail(Category::data,
           "{}: has rows of {}, but {} has rows of {}; each token needs one target, and a label is "
           "one number a row (N): of one-hot rows store argmax(axis=1)",
           place(0), to_string(columns_[0].shape), names_[1], to_string(columns_[1].shape));
  });
}

std::string Hdf5Table::place(size_t column) const {
  return fmt::format("{}: {}", path_.string(), names_[column]);
}

std::set<std::string> Hdf5Table::neighbors() const {
  std::set<std::string> found;
  for (const std::string& name : names_)
    for (std::string& other : within_->datasets_in(group_of(name))) found.insert(std::move(other));
  return found;
}

std::set<std::string> Hdf5Table::used() const {
  std::set<std::string> found;
  for (const std::string& name : names_) found.insert(name.substr(name.starts_with('/') ? 1 : 0));
  return found;
}

// libhdf5 gives a dataset that is open already the cache that it has: so it is closed in between.
Handle Hdf5Table::open_dataset(const std::string& name) const {
  ChunkCache cache = check_dataset(name);
  return within_->open_dataset(name, cache);
}

// Refuses what is not read; the cache that the dataset is to have.
ChunkCache Hdf5Table::check_dataset(const std::string& name) const {
  Handle dataset = within_->open_dataset(name);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + name);
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + name);
  std::string place = fmt::format("{}: {}", path_.string(), name);
  check_layout(creation, H5Tget_size(type), place);
  check_filters(creation, place);
  if (datasets_.empty()) return {};  // the input's chunks are kept by Hdf5Rows
  return {.slots = 521, .bytes = cache_bytes(creation, H5Tget_size(type))};
}

// The column's shape and type. `row` is its shape without the first dimension.
void Hdf5Table::describe(size_t column) {
  hid_t dataset = datasets_[column];
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + names_[column]);
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > max_rank)
    fail(Category::data, "{}: has {} dimensions, expected 1 to {}", place(column), rank, max_rank);
  std::array<hsize_t, max_rank> dims{};
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
  check_storage(column, rank, dims.data());
  chunks_.push_back(std::make_unique<Hdf5Chunks>(dataset, place(column)));
  std::vector<int64_t> row(dims.begin() + 1, dims.begin() + rank);
  if (column == 1) {
    if (static_cast<int64_t>(dims[0]) != count_)
      fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set", place(1),
           dims[0], names_[0], count_);
    return describe_target(row);
  }
  count_ = static_cast<int64_t>(dims[0]);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  if (H5Pget_layout(creation) == H5D_CHUNKED) {
    std::array<hsize_t, max_rank> chunk{};
    check(H5Pget_chunk(creation, max_rank, chunk.data()), "read the layout");
    chunk_rows_ = static_cast<int64_t>(std::min(chunk[0], dims[0]));
  }
  describe_input(row);
}

void Hdf5Table::describe_input(std::vector<int64_t> row) {
  bool bytes = numbers_of(datasets_[0], place(0)) == Numbers::bytes;
  if (row.size() == 1) {
    bool exact = fits_f32(datasets_[0]);
    columns_.push_back({"features", Shape(row), exact ? DType::f32 : DType::f64});
    memory_types_.push_back(exact ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
    return;
  }
  if (!bytes || row.empty())
    fail(Category::data, "{}: is neither images (N, H, W, C) of 8-bit integers nor features (N, F)",
         place(0));
  if (row.size() == 2) row.push_back(1);
  if (row[2] > 4 && row[0] <= 4)
    fail(Category::data, "{}: images of {}; channels are the last dimension: (N, H, W, C)",
         place(0), to_string(Shape(row)));
  columns_.push_back({"images", Shape(row), DType::u8});
  memory_types_.push_back(H5T_NATIVE_UINT8);
}

void Hdf5Table::describe_target(std::vector<int64_t> row) {
  bool floats = numbers_of(datasets_[1], place(1)) == Numbers::floats;
  if (row.size() > 1)
    fail(Category::data, "{}: {} dimensions, expected 1 or 2", place(1), row.size() + 1);
  const char* name = floats ? "values" : row.empty() ? "labels" : "targets";
  if (floats && row.empty()) row.push_back(1);
  columns_.push_back({name, Shape(row), floats ? DType::f32 : DType::i32});
  memory_types_.push_back(floats ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT32);
}

// Sizes that the file can account for: a damaged header says anything.
void Hdf5Table::check_storage(size_t column, int rank, const hsize_t* dims) const {
  uint64_t row = 8;  // bytes of an element in memory, at most
  for (int axis = 1; axis < rank; ++axis)
    if (dims[axis] == 0 || __builtin_mul_overflow(row, dims[axis], &row) || row > max_row_bytes)
      fail(Category::data, "{}: dimension {} is {}; the file is damaged or is not a set of samples",
           place(column), axis, dims[axis]);
  if (dims[0] == 0) fail(Category::data, "{}: contains no samples", place(column));
  uint64_t total = 0, stored = H5Dget_storage_size(datasets_[column]);
  if (__builtin_mul_overflow(row, dims[0], &total) || total / max_compression > stored)
    fail(Category::data,
         "{}: has {} rows, but the file contains {} bytes of them; get an intact copy",
         place(column), dims[0], stored);
}

void Hdf5Table::walk_chunks() const {
  in_hdf5_file(path_, [&] {
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
  // libhdf5 makes zeros, or no sense, of a file that was emptied or written: that is told first.
  auto require_unchanged = [&] { require_same(path_, stamp_, stamp_of_hdf5(file_, path_)); };
  try {
    for (size_t column : {0, 1})
      if (columns[column] != nullptr) read_column(column, first, rows, columns[column]);
  } catch (const Error&) {
    require_unchanged();
    throw;
  }
  require_unchanged();
}

void Hdf5Table::read_column(size_t column, int64_t first, int64_t rows, std::byte* out) const {
  in_hdf5_file(path_, [&] {
    chunks_[column]->require_bounded(first, rows);
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
    check(H5Dread(datasets_[column], memory_types_[column], to, from, H5P_DEFAULT, out), what);
  });
}

}  // namespace spire::inline data
