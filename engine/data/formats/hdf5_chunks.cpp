#include "engine/data/formats/hdf5_chunks.h"

#include <array>
#include <utility>

#include <zlib.h>

#include <spire/error.h>

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

constexpr uint64_t deflate_ratio = 1032;                  // the most that gzip packs by
constexpr uint64_t harmless_bytes = uint64_t{256} << 20;  // of a chunk, whatever is in it

struct Inflater {
  Inflater() { require(inflateInit(&stream) == Z_OK, "zlib does not start"); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

// Whether zlib's data unpack to more than `most` bytes. Damaged ones do not: libhdf5 says so then.
bool unpacks_to_more(std::vector<uint8_t>& stored, uint64_t most) {
  Inflater inflater;
  z_stream& z = inflater.stream;
  std::array<uint8_t, 1 << 16> nowhere;
  z.next_in = stored.data();
  z.avail_in = static_cast<uInt>(stored.size());
  int status = Z_OK;
  while (status == Z_OK && z.total_out <= most) {
    z.next_out = nowhere.data();
    z.avail_out = static_cast<uInt>(nowhere.size());
    status = inflate(&z, Z_NO_FLUSH);
  }
  return z.total_out > most;
}

// Whether chunks are packed by gzip: once, and with nothing but a checksum over it, so that what is
// stored begins with zlib's data.
bool is_packed(hid_t creation, const std::string& place) {
  bool packed = false;
  int filters = check(H5Pget_nfilters(creation), "read the filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    size_t values = 0;
    unsigned flags = 0, config = 0;
    H5Z_filter_t filter =
        H5Pget_filter2(creation, i, &flags, &values, nullptr, 0, nullptr, &config);
    if (packed && check(filter, "read the filters") != H5Z_FILTER_FLETCHER32)
      fail(Category::data, "{}: gzip is followed by filter {}; make it the last one", place,
           filter);
    packed |= filter == H5Z_FILTER_DEFLATE;
  }
  return packed;
}

}  // namespace

Hdf5Chunks::Hdf5Chunks(hid_t dataset, std::string place)
    : dataset_(dataset), place_(std::move(place)) {
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  packed_ = H5Pget_layout(creation) == H5D_CHUNKED && is_packed(creation, place_);
  if (!packed_) return;
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape");
  rank_ = check(H5Sget_simple_extent_ndims(space), "read the shape");
  require(rank_ >= 1 && rank_ <= max_rank, "{}: {} dimensions", place_, rank_);
  check(H5Sget_simple_extent_dims(space, dims_.data(), nullptr), "read the shape");
  check(H5Pget_chunk(creation, max_rank, chunk_.data()), "read the layout");
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  chunk_bytes_ = H5Tget_size(type);
  for (size_t axis = 0; axis < static_cast<size_t>(rank_); ++axis) chunk_bytes_ *= chunk_[axis];
}

void Hdf5Chunks::require_bounded(int64_t first, int64_t rows) {
  if (!packed_) return;
  auto end = static_cast<hsize_t>(first + rows);
  for (hsize_t row = static_cast<hsize_t>(first) / chunk_[0] * chunk_[0]; row < end;
       row += chunk_[0]) {
    Place at{row};
    do {
      check_chunk(at);
    } while (next_in_row(at));
  }
}

// The next chunk with the same first rows; false behind the last one.
bool Hdf5Chunks::next_in_row(Place& at) const {
  for (auto axis = static_cast<size_t>(rank_); axis-- > 1;) {
    at[axis] += chunk_[axis];
    if (at[axis] < dims_[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

void Hdf5Chunks::check_chunk(const Place& at) {
  hsize_t bytes = 0;
  // One that was never written has none, and is an error in some versions.
  if (H5Dget_chunk_storage_size(dataset_, at.data(), &bytes) < 0 || bytes == 0) return;
  if (bytes <= harmless_bytes / deflate_ratio || checked_.contains(at)) return;
  std::string what = fmt::format("read the chunk from row {} on of {}", at[0], place_);
  // Gzip makes nothing longer by more than a little; other filters add a few bytes.
  if (bytes > chunk_bytes_ + chunk_bytes_ / 64 + 4096)
    fail(Category::data,
         "{}: the chunk from row {} on has {} bytes, but holds {}; get an intact copy", place_,
         at[0], bytes, chunk_bytes_);
  stored_.resize(bytes);
  uint32_t left_out = 0;
  check(H5Dread_chunk(dataset_, H5P_DEFAULT, at.data(), &left_out, stored_.data()), what);
  if (unpacks_to_more(stored_, chunk_bytes_ + 4096))
    fail(Category::data,
         "{}: the chunk from row {} on unpacks to more than the {} bytes that it holds; get an "
         "intact copy",
         place_, at[0], chunk_bytes_);
  checked_.insert(at);
}

}  // namespace spire::inline data
