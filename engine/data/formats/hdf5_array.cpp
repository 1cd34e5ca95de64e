#include "engine/data/formats/hdf5_array.h"

#include <algorithm>
#include <array>
#include <utility>

#include <spire/error.h>

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

constexpr int max_rank = 4;
constexpr int64_t max_hdf5_row = int64_t{1} << 30;
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
    case H5T_STRING:
      fail(Category::data,
           "{}: contains texts, not numbers; of labels that are words store "
           "numpy.unique(y, return_inverse=True)[1], and the names numpy.unique(y) as attribute "
           "class_names",
           location);
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

// Refuses unsupported layouts and filters; returns the chunk cache for the dataset.
ChunkCache check_dataset(const Hdf5LinkResolver& links, const std::string& name,
                         const std::string& location, Hdf5Array::Cache cache) {
  Handle dataset = links.open_dataset(name);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + name);
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + name);
  check_layout(creation, H5Tget_size(type), location);
  check_filters(creation, location);
  if (cache == Hdf5Array::Cache::none) return {};
  return {.slots = 521 /* libhdf5's default */, .bytes = cache_bytes(creation, H5Tget_size(type))};
}

// Checks the dataset, closes it and opens it anew: libhdf5 sets a cache on the first open handle
// only.
Handle open_checked(const Hdf5LinkResolver& links, const std::string& name,
                    const std::string& location, Hdf5Array::Cache cache) {
  ChunkCache chunks = check_dataset(links, name, location, cache);
  return links.open_dataset(name, chunks);
}

}  // namespace

Hdf5Array::Hdf5Array(const Hdf5LinkResolver& links, const std::filesystem::path& file,
                     std::string name, Cache cache)
    : path_(file),
      name_(std::move(name)),
      location_(fmt::format("{}: {}", file.string(), name_)),
      dataset_(open_checked(links, name_, location_, cache)) {
  Handle space(H5Dget_space(dataset_), H5Sclose, "read the shape of " + name_);
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > max_rank)
    fail(Category::data, "{}: has {} dimensions, expected 1 to {}", location_, rank, max_rank);
  std::array<hsize_t, max_rank> dims{};
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
  check_storage(rank, dims.data());
  guard_ = std::make_unique<Hdf5ChunkGuard>(dataset_, location_);
  rows_ = static_cast<int64_t>(dims[0]);
  row_.assign(dims.begin() + 1, dims.begin() + rank);
  note_chunks(dims);
}

StoredArray Hdf5Array::stored() const {
  return {.location = location_,
          .numbers = numbers_of(dataset_, location_),
          .exact = fits_f32(dataset_),
          .row = row_};
}

// Notes how many rows a chunk has.
void Hdf5Array::note_chunks(std::span<const hsize_t> dims) {
  Handle creation(H5Dget_create_plist(dataset_), H5Pclose, "read the layout");
  if (H5Pget_layout(creation) != H5D_CHUNKED) return;
  std::array<hsize_t, max_rank> chunk{};
  check(H5Pget_chunk(creation, max_rank, chunk.data()), "read the layout");
  chunk_rows_ = static_cast<int64_t>(std::min(chunk[0], dims[0]));
}

// Refuses shapes that the file's size cannot account for, before memory is allocated for them.
void Hdf5Array::check_storage(int rank, const hsize_t* dims) const {
  uint64_t row = 8;  // bytes, from the largest element in memory
  for (int axis = 1; axis < rank; ++axis)
    if (dims[axis] == 0 || __builtin_mul_overflow(row, dims[axis], &row) || row > max_hdf5_row)
      fail(Category::data, "{}: dimension {} is {}; the file is damaged or is not a set of samples",
           location_, axis, dims[axis]);
  if (dims[0] == 0) fail(Category::data, "{}: contains no samples", location_);
  uint64_t total = 0, stored = H5Dget_storage_size(dataset_);
  if (__builtin_mul_overflow(row, dims[0], &total) || total / max_compression > stored)
    fail(Category::data,
         "{}: has {} rows, but the file contains {} bytes of them; get an intact copy", location_,
         dims[0], stored);
}

void Hdf5Array::read_chunk_index() const {
  Handle creation(H5Dget_create_plist(dataset_), H5Pclose, "read the layout");
  Handle all(H5Dget_space(dataset_), H5Sclose, "read the shape");
  hsize_t chunks = 0;
  if (H5Pget_layout(creation) == H5D_CHUNKED)
    check(H5Dget_num_chunks(dataset_, all, &chunks), "read chunks of " + name_);
}

void Hdf5Array::read(int64_t first, int64_t rows, DType dtype, std::byte* out) const {
  translate_hdf5_errors(path_, [&] {
    guard_->require_bounded(first, rows);
    std::string what = fmt::format("read rows {} to {} of {}", first, first + rows - 1, name_);
    Handle from(H5Dget_space(dataset_), H5Sclose, what);
    std::array<hsize_t, max_rank> start{}, extent{};
    check(H5Sget_simple_extent_dims(from, extent.data(), nullptr), what);
    start[0] = static_cast<hsize_t>(first);
    extent[0] = static_cast<hsize_t>(rows);
    check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
          what);
    int rank = check(H5Sget_simple_extent_ndims(from), what);
    Handle to(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose, what);
    hid_t type = memory_type(dtype);
    check(H5Dread(dataset_, type, to, from, H5P_DEFAULT, out), what);
  });
}

}  // namespace spire::inline data
