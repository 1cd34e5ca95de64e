// libhdf5 inflates a chunk to the end of its gzip stream, however long, though the chunk's size is
// known: 27 MB make 27 GB. So each suspicious chunk is inflated once into a small buffer that is
// thrown away, and refused where it is longer than the chunk. Chunks too small to be harmful are
// not checked.
#include "engine/data/formats/hdf5_chunk_guard.h"

#include <array>
#include <utility>

#include <zlib.h>

#include <spire/error.h>

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

constexpr uint64_t deflate_ratio = 1032;                  // deflate's largest compression
constexpr uint64_t harmless_bytes = uint64_t{256} << 20;  // inflated size that needs no check

struct Inflater {
  Inflater() { require(inflateInit(&stream) == Z_OK, "zlib does not start"); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

// Returns whether a zlib stream inflates to more than `bound` bytes. Damaged streams do not:
// libhdf5 reports them.
bool inflates_beyond(std::vector<uint8_t>& stored, uint64_t bound) {
  Inflater inflater;
  z_stream& z = inflater.stream;
  std::array<uint8_t, 1 << 16> discarded;
  z.next_in = stored.data();
  z.avail_in = static_cast<uInt>(stored.size());
  int status = Z_OK;
  while (status == Z_OK && z.total_out <= bound) {
    z.next_out = discarded.data();
    z.avail_out = static_cast<uInt>(discarded.size());
    status = inflate(&z, Z_NO_FLUSH);
  }
  return z.total_out > bound;
}

// Returns whether gzip packs the chunks. Requires it to be the last filter but for a checksum, so
// that a stored chunk begins with the zlib stream.
bool is_packed(hid_t creation, const std::string& location) {
  bool packed = false;
  int filters = check(H5Pget_nfilters(creation), "read the filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    size_t values = 0;
    unsigned flags = 0, config = 0;
    H5Z_filter_t filter =
        H5Pget_filter2(creation, i, &flags, &values, nullptr, 0, nullptr, &config);
    if (packed && check(filter, "read the filters") != H5Z_FILTER_FLETCHER32)
      fail(Category::data, "{}: gzip is followed by filter {}; make it the last one", location,
           filter);
    packed |= filter == H5Z_FILTER_DEFLATE;
  }
  return packed;
}

}  // namespace

Hdf5ChunkGuard::Hdf5ChunkGuard(hid_t dataset, std::string location)
    : dataset_(dataset), location_(std::move(location)) {
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  packed_ = H5Pget_layout(creation) == H5D_CHUNKED && is_packed(creation, location_);
  if (!packed_) return;
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape");
  rank_ = check(H5Sget_simple_extent_ndims(space), "read the shape");
  require(rank_ >= 1 && rank_ <= max_rank, "{}: {} dimensions", location_, rank_);
  check(H5Sget_simple_extent_dims(space, dims_.data(), nullptr), "read the shape");
  check(H5Pget_chunk(creation, max_rank, chunk_.data()), "read the layout");
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  chunk_bytes_ = H5Tget_size(type);
  for (size_t axis = 0; axis < static_cast<size_t>(rank_); ++axis) chunk_bytes_ *= chunk_[axis];
}

void Hdf5ChunkGuard::require_bounded(int64_t first, int64_t rows) {
  if (!packed_) return;
  // All chunks that overlap the rows, in all columns.
  auto end = static_cast<hsize_t>(first + rows);
  for (hsize_t row = static_cast<hsize_t>(first) / chunk_[0] * chunk_[0]; row < end;
       row += chunk_[0]) {
    Offset offset{row};
    do {
      check_chunk(offset);
    } while (next_in_row(offset));
  }
}

// Advances to the next chunk of the same first row, like an odometer; false after the last one.
bool Hdf5ChunkGuard::next_in_row(Offset& offset) const {
  for (auto axis = static_cast<size_t>(rank_); axis-- > 1;) {
    offset[axis] += chunk_[axis];
    if (offset[axis] < dims_[axis]) return true;
    offset[axis] = 0;
  }
  return false;
}

void Hdf5ChunkGuard::check_chunk(const Offset& offset) {
  hsize_t bytes = 0;
  // A chunk never written has no storage; some versions of libhdf5 return an error for it.
  if (H5Dget_chunk_storage_size(dataset_, offset.data(), &bytes) < 0 || bytes == 0) return;
  if (bytes <= harmless_bytes / deflate_ratio || checked_.contains(offset)) return;
  std::string what = fmt::format("read the chunk from row {} on of {}", offset[0], location_);
  // Deflate expands incompressible data by less than 1/64; other filters add a few bytes.
  if (bytes > chunk_bytes_ + chunk_bytes_ / 64 + 4096)
    fail(Category::data,
         "{}: the chunk from row {} on has {} bytes, but holds {}; get an intact copy", location_,
         offset[0], bytes, chunk_bytes_);
  stored_.resize(bytes);
  uint32_t left_out = 0;
  check(H5Dread_chunk(dataset_, H5P_DEFAULT, offset.data(), &left_out, stored_.data()), what);
  if (inflates_beyond(stored_, chunk_bytes_ + 4096))
    fail(Category::data,
         "{}: the chunk from row {} on unpacks to more than the {} bytes that it holds; get an "
         "intact copy",
         location_, offset[0], chunk_bytes_);
  checked_.insert(offset);
}

}  // namespace spire::inline data
