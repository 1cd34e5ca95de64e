// libhdf5 inflates a chunk to the end of its gzip stream, however long, though the chunk's size is
// known: 27 MB make 27 GB. So each suspicious chunk is inflated once into a small buffer that is
// thrown away, and refused where it is longer than the chunk. Chunks too small to be harmful are
// not checked.
#include <algorithm>
#include <limits>

#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire {
namespace {

using h5::check;
using h5::Handle;

constexpr int64_t max_hdf5_row = int64_t{1} << 30;
constexpr uint64_t max_chunk_bytes = uint64_t{256} << 20;  // as libhdf5 decodes whole chunks
constexpr uint64_t max_compression = 1 << 15;  // bound of the bytes that filters make of one
constexpr uint64_t deflate_ratio = 1032;       // deflate's largest compression
constexpr uint64_t harmless_bytes = uint64_t{256} << 20;  // inflated size that needs no check

Hdf5Layout read_layout(hid_t dataset, const std::string& name) {
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + name);
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + name);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + name);
  std::string what = "read the layout";
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  Hdf5Layout layout;
  int rank = check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
  layout.dims.assign(dims.begin(), dims.begin() + rank);
  H5D_layout_t kind = check(H5Pget_layout(creation), what);
  layout.elsewhere = kind == H5D_VIRTUAL || check(H5Pget_external_count(creation), what) > 0;
  if (kind == H5D_CHUNKED) {
    rank = check(H5Pget_chunk(creation, H5S_MAX_RANK, dims.data()), what);
    layout.chunk.assign(dims.begin(), dims.begin() + rank);
  }
  int filters = check(H5Pget_nfilters(creation), "read the filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    std::array<char, 64> word{};
    size_t values = 0;
    unsigned flags = 0, config = 0;
    H5Z_filter_t filter = check(H5Pget_filter2(creation, i, &flags, &values, nullptr,
                                               word.size() - 1, word.data(), &config),
                                "read the filters");
    layout.filters.emplace_back(filter, word.data());
  }
  layout.type = H5Tget_class(type);
  layout.natural = H5Tget_sign(type) == H5T_SGN_NONE;
  layout.element_bytes = H5Tget_size(type);
  return layout;
}

// Returns whether decoding by the filter is safe whatever a chunk holds. libhdf5's n-bit and
// scale-offset are not: they return uninitialized memory where a file's settings do not fit its
// numbers. Filters of h5py, such as lzf, are not part of this libhdf5.
bool is_read(H5Z_filter_t filter) {
  constexpr std::array known = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                H5Z_FILTER_SZIP};
  return std::ranges::find(known, filter) != known.end() && H5Zfilter_avail(filter) > 0;
}

// Refuses data stored in other files, chunks too large for memory, and filters that are not read.
void require_readable_chunks(const Hdf5Layout& layout, const std::string& location) {
  if (layout.elsewhere)
    fail(Category::data,
         "{}: its numbers are in other files; copy them into this one, with h5py's "
         "create_dataset(name, data=dataset[:])",
         location);
  if (!layout.chunk.empty() && layout.chunk_bytes() > max_chunk_bytes)
    fail(Category::data,
         "{}: chunks of over {} MiB; make smaller ones, with h5repack -l CHUNK=... or h5py's "
         "chunks=...",
         location, max_chunk_bytes >> 20);
  for (const auto& [filter, name] : layout.filters)
    if (!is_read(filter))
      fail(Category::data,
           "{}: is packed by the filter {} ('{}'), which this program does not read; write it with "
           "gzip, in h5py with compression='gzip'",
           location, filter, name);
}

// Refuses shapes that the file's size cannot account for, before memory is allocated for them.
void require_stored(const Hdf5Layout& layout, uint64_t stored, size_t max_rank,
                    const std::string& location) {
  const std::vector<hsize_t>& dims = layout.dims;
  if (dims.empty() || dims.size() > max_rank)
    fail(Category::data, "{}: has {} dimensions, expected 1 to {}", location, dims.size(),
         max_rank);
  if (!layout.chunk.empty() && layout.chunk.size() != dims.size())
    fail(Category::data, "{}: chunks of {} dimensions, expected {}; the file is damaged", location,
         layout.chunk.size(), dims.size());
  uint64_t row = 8, total = 0;  // bytes, from the largest element in memory
  for (size_t axis = 1; axis < dims.size(); ++axis)
    if (dims[axis] == 0 || __builtin_mul_overflow(row, dims[axis], &row) || row > max_hdf5_row)
      fail(Category::data, "{}: dimension {} is {}; the file is damaged or is not a set of samples",
           location, axis, dims[axis]);
  if (dims[0] == 0) fail(Category::data, "{}: contains no samples", location);
  if (__builtin_mul_overflow(row, dims[0], &total) || total / max_compression > stored)
    fail(Category::data,
         "{}: has {} rows, but the file contains {} bytes of them; get an intact copy", location,
         dims[0], stored);
}

// A stored chunk begins with the zlib stream where gzip is the last filter but for a checksum.
void require_gzip_last(const Hdf5Layout& layout, const std::string& location) {
  bool packed = false;
  for (const auto& [filter, name] : layout.filters) {
    if (packed && !layout.chunk.empty() && filter != H5Z_FILTER_FLETCHER32)
      fail(Category::data, "{}: gzip is followed by filter {}; make it the last one", location,
           filter);
    packed |= filter == H5Z_FILTER_DEFLATE;
  }
}

// Reads and checks the layout, then opens the dataset anew: libhdf5 sets a cache on the first open
// handle only. The cache is for targets: their chunks may span far more rows than those of the
// input, and would be decoded again for each block of the input.
Handle open_checked(const Hdf5LinkResolver& links, const std::string& name,
                    const std::string& location, size_t max_rank, Hdf5Array::Cache cache,
                    Hdf5Layout& layout) {
  {
    Handle dataset = links.open_dataset(name);
    layout = read_layout(dataset, name);
    require_readable_chunks(layout, location);
    require_stored(layout, H5Dget_storage_size(dataset), max_rank, location);
    require_gzip_last(layout, location);
  }
  if (cache == Hdf5Array::Cache::none) return links.open_dataset(name);
  constexpr uint64_t least = uint64_t{1} << 20, most = uint64_t{64} << 20;
  return links.open_dataset(name, {.slots = 521 /* libhdf5's default */,
                                   .bytes = std::clamp(layout.chunk_bytes(), least, most)});
}

// A predefined type of libhdf5, which is never closed.
hid_t memory_type(DType dtype) {
  if (dtype == DType::u8) return H5T_NATIVE_UINT8;
  if (dtype == DType::i32) return H5T_NATIVE_INT32;
  return dtype == DType::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

// Returns whether a zlib stream inflates to more than `bound` bytes. Damaged streams do not:
// libhdf5 reports them.
bool inflates_beyond(std::vector<uint8_t>& stored, uint64_t bound) {
  z_stream z{};
  require(inflateInit(&z) == Z_OK, "zlib does not start");
  std::array<uint8_t, 1 << 16> discarded;
  z.next_in = stored.data();
  z.avail_in = static_cast<uInt>(stored.size());
  int status = Z_OK;
  while (status == Z_OK && z.total_out <= bound) {
    z.next_out = discarded.data();
    z.avail_out = static_cast<uInt>(discarded.size());
    status = inflate(&z, Z_NO_FLUSH);
  }
  inflateEnd(&z);
  return z.total_out > bound;
}

std::string dims_text(const std::vector<hsize_t>& dims) {
  return fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
}

// Metadata of arrays and tables: attributes as h5py and others write them, row checksums.

// Bounds of attributes: a damaged header may ask for any size.
constexpr hssize_t max_entries = 1 << 20;
constexpr size_t max_word_bytes = 1 << 16;

size_t entries_of(hid_t attribute, const std::string& location) {
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + location);
  hssize_t entries = H5Sget_simple_extent_npoints(space);
  if (entries < 0 || entries > max_entries)
    fail(Category::data, "{}: has {} entries; the file is damaged", location, entries);
  return static_cast<size_t>(entries);
}

// Reads strings of one length, padded with nulls.
std::vector<std::string> fixed_words(hid_t attribute, hid_t type, size_t count,
                                     const std::string& location) {
  size_t length = H5Tget_size(type);
  if (length == 0 || length > max_word_bytes)
    fail(Category::data, "{}: words of {} bytes; the file is damaged", location, length);
  std::string all(count * length, '\0');
  check(H5Aread(attribute, type, all.data()), "read " + location);
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    std::string word = all.substr(i * length, length);
    word.resize(std::min(word.find('\0'), length));
    words.push_back(word);
  }
  return words;
}

// Reads strings of variable length, which libhdf5 allocates and H5Dvlen_reclaim frees.
std::vector<std::string> variable_words(hid_t attribute, hid_t type, size_t count,
                                        const std::string& location) {
  std::vector<char*> pointers(count, nullptr);
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + location);
  check(H5Aread(attribute, type, pointers.data()), "read " + location);
  std::vector<std::string> words;
  for (const char* word : pointers) words.emplace_back(word == nullptr ? "" : word);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return words;
}

}  // namespace

uint64_t Hdf5Layout::chunk_bytes() const {
  uint64_t bytes = element_bytes;
  for (hsize_t dim : chunk)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::numeric_limits<uint64_t>::max();
  return bytes;
}

bool Hdf5Layout::is_packed() const {
  return !chunk.empty() && std::ranges::any_of(filters, [](const auto& filter) {
    return filter.first == H5Z_FILTER_DEFLATE;
  });
}

Hdf5Array::Hdf5Array(const Hdf5LinkResolver& links, const std::filesystem::path& file,
                     std::string name, Cache cache)
    : path_(file),
      name_(std::move(name)),
      location_(fmt::format("{}: {}", file.string(), name_)),
      dataset_(open_checked(links, name_, location_, max_rank, cache, layout_)) {}

int64_t Hdf5Array::chunk_rows() const {
  return layout_.chunk.empty() ? 0 : std::min(static_cast<int64_t>(layout_.chunk[0]), rows());
}

StoredArray Hdf5Array::stored() const {
  bool floats = layout_.type == H5T_FLOAT;
  if (layout_.type == H5T_STRING)
    fail(Category::data,
         "{}: contains texts, not numbers; of labels that are words store "
         "numpy.unique(y, return_inverse=True)[1], and the names numpy.unique(y) as attribute "
         "class_names",
         location_);
  if (!floats && layout_.type != H5T_INTEGER)
    fail(Category::data, "{}: contains neither integers nor floating-point numbers", location_);
  StoredArray array = {.location = location_,
                       .exact = layout_.element_bytes <= (floats ? 4 : 2),
                       .row = {layout_.dims.begin() + 1, layout_.dims.end()}};
  if (!floats) array.numbers = Numbers::integers;
  if (!floats && layout_.natural && layout_.element_bytes == 1) array.numbers = Numbers::bytes;
  if (!floats && layout_.natural && layout_.element_bytes == 2) array.numbers = Numbers::words16;
  return array;
}

std::string Hdf5Array::layout() const {
  const char* type = layout_.type == H5T_FLOAT ? "float" : layout_.natural ? "uint" : "int";
  std::string chunks =
      layout_.chunk.empty() ? "no chunks" : "chunks of " + dims_text(layout_.chunk);
  if (!layout_.chunk.empty())
    for (const auto& [filter, name] : layout_.filters) chunks += ", " + name;
  return fmt::format("{}: {}{} {}, {}, {} bytes", name_, type, 8 * layout_.element_bytes,
                     dims_text(layout_.dims), chunks, H5Dget_storage_size(dataset_));
}

void Hdf5Array::read_chunk_index() const {
  if (layout_.chunk.empty()) return;
  Handle all(H5Dget_space(dataset_), H5Sclose, "read the shape");
  hsize_t chunks = 0;
  check(H5Dget_num_chunks(dataset_, all, &chunks), "read chunks of " + name_);
}

void Hdf5Array::read(int64_t first, int64_t rows, DType dtype, std::byte* out) const {
  translate_hdf5_errors(path_, [&] {
    require_bounded(first, rows);
    std::string what = fmt::format("read rows {} to {} of {}", first, first + rows - 1, name_);
    Handle from(H5Dget_space(dataset_), H5Sclose, what);
    std::array<hsize_t, max_rank> start{static_cast<hsize_t>(first)}, extent{};
    std::ranges::copy(layout_.dims, extent.begin());
    extent[0] = static_cast<hsize_t>(rows);
    check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
          what);
    Handle to(H5Screate_simple(static_cast<int>(layout_.dims.size()), extent.data(), nullptr),
              H5Sclose, what);
    check(H5Dread(dataset_, memory_type(dtype), to, from, H5P_DEFAULT, out), what);
  });
}

// Checks all chunks that overlap the rows, each only once, so that later epochs lose no time.
void Hdf5Array::require_bounded(int64_t first, int64_t rows) const {
  if (!layout_.is_packed()) return;
  hsize_t step = layout_.chunk[0], end = static_cast<hsize_t>(first + rows);
  for (hsize_t row = static_cast<hsize_t>(first) / step * step; row < end; row += step) {
    Offset offset{row};
    do {
      check_chunk(offset);
    } while (next_in_row(offset));
  }
}

// Advances to the next chunk of the same first row, like an odometer; false after the last one.
bool Hdf5Array::next_in_row(Offset& offset) const {
  for (size_t axis = layout_.dims.size(); axis-- > 1;) {
    offset[axis] += layout_.chunk[axis];
    if (offset[axis] < layout_.dims[axis]) return true;
    offset[axis] = 0;
  }
  return false;
}

void Hdf5Array::check_chunk(const Offset& offset) const {
  hsize_t bytes = 0;
  // A chunk never written has no storage; some versions of libhdf5 return an error for it.
  if (H5Dget_chunk_storage_size(dataset_, offset.data(), &bytes) < 0 || bytes == 0) return;
  if (bytes <= harmless_bytes / deflate_ratio || checked_.contains(offset)) return;
  uint64_t expected = layout_.chunk_bytes();
  // Deflate expands incompressible data by less than 1/64; other filters add a few bytes.
  if (bytes > expected + expected / 64 + 4096)
    fail(Category::data,
         "{}: the chunk from row {} on has {} bytes, but holds {}; get an intact copy", location_,
         offset[0], bytes, expected);
  stored_.resize(bytes);
  uint32_t left_out = 0;
  check(H5Dread_chunk(dataset_, H5P_DEFAULT, offset.data(), &left_out, stored_.data()),
        fmt::format("read the chunk from row {} on of {}", offset[0], location_));
  if (inflates_beyond(stored_, expected + 4096))
    fail(Category::data,
         "{}: the chunk from row {} on unpacks to more than the {} bytes that it holds; get an "
         "intact copy",
         location_, offset[0], expected);
  checked_.insert(offset);
}

std::optional<Handle> Hdf5Array::open_attribute(const char* name) const {
  if (check(H5Aexists(dataset_, name), "look for attributes") == 0) return {};
  return Handle(H5Aopen(dataset_, name, H5P_DEFAULT), H5Aclose,
                fmt::format("read attribute {} of {}", name, name_));
}

std::vector<double> Hdf5Array::numbers(const char* name) const {
  return translate_hdf5_errors(path_, [&]() -> std::vector<double> {
    std::optional<Handle> attribute = open_attribute(name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", location_, name);
    Handle type(H5Aget_type(*attribute), H5Tclose, "read the type of " + what);
    H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER)
      fail(Category::data, "{}: contains no numbers", what);
    std::vector<double> values(entries_of(*attribute, what));
    if (!values.empty())
      check(H5Aread(*attribute, H5T_NATIVE_DOUBLE, values.data()), "read " + what);
    return values;
  });
}

std::vector<std::string> Hdf5Array::words(const char* name) const {
  return translate_hdf5_errors(path_, [&]() -> std::vector<std::string> {
    std::optional<Handle> attribute = open_attribute(name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", location_, name);
    Handle type(H5Aget_type(*attribute), H5Tclose, "read the type of " + what);
    if (H5Tget_class(type) != H5T_STRING) fail(Category::data, "{}: contains no words", what);
    size_t count = entries_of(*attribute, what);
    if (count == 0) return {};
    bool variable = check(H5Tis_variable_str(type), "read the type of " + what) > 0;
    return variable ? variable_words(*attribute, type, count, what)
                    : fixed_words(*attribute, type, count, what);
  });
}

}  // namespace spire
