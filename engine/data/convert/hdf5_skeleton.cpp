#include "engine/data/convert/hdf5_skeleton.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_names.h"

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

constexpr const char* checksum_group = "xxh3/";
constexpr size_t max_compact_bytes = 32 << 10;  // of attributes in an object's header

std::string name_of(size_t half, const Column& column) {
  return fmt::format("{}/{}", hdf5_halves[half], column.name);
}

hid_t file_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
    default:
      fail(Category::unexpected, "rows of {} in an HDF5 file", name(dtype));
  }
}

// Without times, as everything in the file.
void make_group(hid_t file, const std::string& name) {
  Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "keep no times");
  Handle group(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose,
               "make " + name);
}

// Room is taken when the dataset is made and never filled; no times: the same gives the same bytes.
// dense: attributes may be larger than an object's header.
Handle creation_of_rows(bool dense) {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "keep no times");
  check(H5Pset_layout(creation, H5D_CONTIGUOUS), "choose the layout");
  check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "take room");
  check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "leave the room empty");
  if (dense) check(H5Pset_attr_phase_change(creation, 0, 0), "make room for attributes");
  return creation;
}

Handle make_rows(hid_t file, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                 bool dense) {
  Handle creation = creation_of_rows(dense);
  Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose,
               "make a shape");
  return Handle(H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                H5Dclose, "make " + name);
}

void put_list(hid_t object, const std::string& name, hid_t type, size_t count, const void* values) {
  hsize_t size = count;
  Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "make a shape");
  Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose, "make attribute " + name);
  check(H5Awrite(attribute, type, values), "write attribute " + name);
}

void put_numbers(hid_t object, const std::string& name, const std::vector<double>& values) {
  if (!values.empty()) put_list(object, name, H5T_IEEE_F64LE, values.size(), values.data());
}

// Words of one length, the longest one's, padded with nulls.
void put_words(hid_t object, const std::string& name, const std::vector<std::string>& words) {
  if (words.empty()) return;
  size_t length = 1;
  for (const std::string& word : words) length = std::max(length, word.size());
  std::string all;
  for (std::string word : words) {
    word.resize(length);
    all += word;
  }
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  check(H5Tset_size(type, length), "size a type");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "pad a type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set an encoding");
  put_list(object, name, type, words.size(), all.data());
}

size_t bytes_of(const std::vector<std::string>& words) {
  size_t longest = 0;
  for (const std::string& word : words) longest = std::max(longest, word.size());
  return longest * words.size();
}

bool has_large_attributes(const SampleSpec& spec) {
  return bytes_of(spec.class_names) + bytes_of(spec.feature_names) + spec.vocabulary.size() +
             16 * spec.normalization.mean.size() >
         max_compact_bytes;
}

void describe(hid_t dataset, const SampleSpec& spec, size_t column) {
  if (column == 0) {
    put_numbers(dataset, "mean", spec.normalization.mean);
    put_numbers(dataset, "stddev", spec.normalization.stddev);
    put_words(dataset, "feature_names", spec.feature_names);
  } else if (spec.classes > 0) {
    h5::write_attribute(dataset, "classes", spec.classes);
    put_words(dataset, "class_names", spec.class_names);
    if (!spec.vocabulary.empty()) put_words(dataset, "vocabulary", {spec.vocabulary});
  }
}

void make_column(hid_t file, const SampleSpec& spec, const SkeletonRows& rows, size_t half,
                 size_t column) {
  const Column& of = spec.columns[column];
  std::vector<hsize_t> dims = {static_cast<hsize_t>(rows.count[half])};
  for (int64_t dim : of.shape.dims()) dims.push_back(static_cast<hsize_t>(dim));
  Handle dataset =
      make_rows(file, name_of(half, of), file_type(of.dtype), dims, has_large_attributes(spec));
  describe(dataset, spec, column);
  Handle checksums = make_rows(file, checksum_group + name_of(half, of), H5T_STD_U64LE,
                               {static_cast<hsize_t>(rows.blocks(half))}, false);
  h5::write_attribute(checksums, "rows", rows.block);
}

int64_t place_of(hid_t file, const std::string& name) {
  Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + name);
  haddr_t place = H5Dget_offset(dataset);
  if (place == HADDR_UNDEF) fail(Category::data, "{}: has no room for its rows", name);
  return static_cast<int64_t>(place);
}

}  // namespace

int64_t frame_row_bytes(const SampleSpec& spec, const SkeletonRows& rows) {
  int64_t bytes = 0;
  for (size_t half : {0, 1})
    for (const Column& column : spec.columns)
      bytes += rows.count[half] * static_cast<int64_t>(column.row_bytes()) +
               rows.blocks(half) * static_cast<int64_t>(sizeof(uint64_t));
  return bytes;
}

void make_hdf5_frame(const std::filesystem::path& path, const SampleSpec& spec,
                     const SkeletonRows& rows) {
  h5::Session session;
  in_hdf5_file(path, [&] {
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
    // Large attributes are of this format; the conversion holds a lock of its own.
    check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110), "choose the format");
    h5::disable_locking(access);
    Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make properties");
    check(H5Pset_obj_track_times(creation, false), "keep no times");
    Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose, "make it");
    make_group(file, checksum_group);
    for (const char* half : hdf5_halves)
      for (const std::string& name : {std::string(half), fmt::format("{}{}", checksum_group, half)})
        make_group(file, name);
    for (size_t half : {0, 1})
      for (size_t column : {0, 1}) make_column(file, spec, rows, half, column);
    check(H5Fflush(file, H5F_SCOPE_LOCAL), "write it");
    file.close_checked("write it");
  });
}

Hdf5Skeleton read_hdf5_frame(const std::filesystem::path& path, const SampleSpec& spec) {
  h5::Session session;
  return in_hdf5_file(path, [&] {
    Handle file = open_hdf5_data(path);
    Hdf5Skeleton frame;
    for (size_t half : {0, 1})
      for (size_t column : {0, 1}) {
        std::string name = name_of(half, spec.columns[column]);
        frame.columns[half][column] = {place_of(file, name), place_of(file, checksum_group + name)};
      }
    hsize_t bytes = 0;
    check(H5Fget_filesize(file, &bytes), "read its size");
    frame.bytes = static_cast<int64_t>(bytes);
    return frame;
  });
}

std::optional<BlockChecksums> read_block_checksums(const Hdf5Names& within,
                                                   const std::string& name) {
  std::string place = checksum_group + name;
  if (!within.has(place)) return {};
  Handle dataset = within.open_dataset(place);
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + place);
  hssize_t count = H5Sget_simple_extent_npoints(space);
  auto stored = static_cast<hssize_t>(H5Dget_storage_size(dataset) / sizeof(uint64_t));
  BlockChecksums result;
  h5::read_attribute(dataset, "rows", result.rows);
  if (result.rows < 1 || count < 0 || count > stored)
    fail(Category::data, "{}: is damaged; get an intact copy", place);
  result.blocks.resize(static_cast<size_t>(count));
  check(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.blocks.data()),
        "read " + place);
  return result;
}

}  // namespace spire::inline data
