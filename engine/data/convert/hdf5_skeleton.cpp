// A killed conversion leaves a valid file, as libhdf5 is done with it before the first row is
// written.
#include <algorithm>

#include "engine/base/fail.h"
#include "engine/base/hdf5.h"
#include "engine/data/convert/conversion.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire {
namespace {

using h5::check;
using h5::Handle;
using Words = std::vector<std::string>;

constexpr size_t max_compact_bytes = 32 << 10;  // of attributes that fit into an object's header

std::string name_of(size_t split, const Column& column) {
  return fmt::format("{}/{}", hdf5_splits[split], column.name);
}

hid_t file_type(DType dtype) {
  if (dtype == DType::u8) return H5T_STD_U8LE;
  if (dtype == DType::i32) return H5T_STD_I32LE;
  if (dtype == DType::f32) return H5T_IEEE_F32LE;
  require(dtype == DType::f64, "rows of {} in an HDF5 file", to_string(dtype));
  return H5T_IEEE_F64LE;
}

// Returns properties without time stamps: equal arguments must give equal bytes.
Handle creation_of(hid_t kind) {
  Handle creation(H5Pcreate(kind), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "keep no times");
  return creation;
}

void make_group(hid_t file, const std::string& name) {
  Handle group(
      H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation_of(H5P_GROUP_CREATE), H5P_DEFAULT),
      H5Gclose, "make " + name);
}

// Makes a dataset whose space is allocated early and never filled. dense: attributes are stored
// outside the object's header.
Handle make_rows(hid_t file, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                 bool dense) {
  Handle creation = creation_of(H5P_DATASET_CREATE);
  check(H5Pset_layout(creation, H5D_CONTIGUOUS), "choose the layout");
  check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "take room");
  check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "leave the room empty");
  if (dense) check(H5Pset_attr_phase_change(creation, 0, 0), "make room for attributes");
  Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose,
               "make a shape");
  return Handle(H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                H5Dclose, "make " + name);
}

// Writes a list as an attribute; an empty one is left out.
void put_list(hid_t object, const std::string& name, hid_t type, hsize_t size, const void* values) {
  if (size == 0) return;
  Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "make a shape");
  Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose, "make attribute " + name);
  check(H5Awrite(attribute, type, values), "write attribute " + name);
}

void put_numbers(hid_t object, const std::string& name, const std::vector<double>& values) {
  put_list(object, name, H5T_IEEE_F64LE, values.size(), values.data());
}

size_t longest(const Words& words) {
  size_t bytes = 0;
  for (const std::string& word : words) bytes = std::max(bytes, word.size());
  return bytes;
}

// Writes words as strings of the longest one's length, padded with nulls.
void put_words(hid_t object, const std::string& name, const Words& words) {
  size_t length = std::max<size_t>(1, longest(words));
  std::string all;
  for (const std::string& word : words) all += word + std::string(length - word.size(), '\0');
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  check(H5Tset_size(type, length), "size a type");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "pad a type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set an encoding");
  put_list(object, name, type, words.size(), all.data());
}

// Writes the attributes that row_schema.cpp reads.
void write_attributes(hid_t dataset, const SampleSpec& spec, size_t column) {
  if (column == 0) {
    put_numbers(dataset, "mean", spec.normalization.mean);
    put_numbers(dataset, "stddev", spec.normalization.stddev);
    put_words(dataset, "feature_names", spec.feature_names);
  } else if (!spec.target_scale.mean.empty()) {
    put_numbers(dataset, "mean", spec.target_scale.mean);
    put_numbers(dataset, "stddev", spec.target_scale.stddev);
  } else if (spec.classes > 0) {
    h5::write_attribute(dataset, "classes", spec.classes);
    put_words(dataset, "class_names", spec.class_names);
    if (!spec.vocabulary.empty()) put_words(dataset, "vocabulary", {spec.vocabulary});
  }
}

void make_column(hid_t file, const SampleSpec& spec, const SkeletonRows& rows, size_t split,
                 size_t column) {
  const Column& of = spec.columns[column];
  std::vector<hsize_t> dims = {static_cast<hsize_t>(rows.count[split])};
  for (int64_t dim : of.shape.dims()) dims.push_back(static_cast<hsize_t>(dim));
  size_t attribute_bytes = longest(spec.class_names) * spec.class_names.size() +
                           longest(spec.feature_names) * spec.feature_names.size() +
                           spec.vocabulary.size() + 16 * spec.normalization.mean.size();
  Handle dataset = make_rows(file, name_of(split, of), file_type(of.dtype), dims,
                             attribute_bytes > max_compact_bytes);
  write_attributes(dataset, spec, column);
  Handle checksums = make_rows(file, hdf5_checksum_group + name_of(split, of), H5T_STD_U64LE,
                               {static_cast<hsize_t>(rows.blocks(split))}, false);
  h5::write_attribute(checksums, "rows", rows.block);
}

int64_t offset_of(hid_t file, const std::string& name) {
  Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + name);
  haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) fail(Category::data, "{}: has no room for its rows", name);
  return static_cast<int64_t>(offset);
}

}  // namespace

int64_t skeleton_row_bytes(const SampleSpec& spec, const SkeletonRows& rows) {
  int64_t bytes = 0;
  for (size_t split = 0; split < rows.splits(); ++split)
    for (const Column& column : spec.columns)
      bytes += rows.count[split] * static_cast<int64_t>(column.row_bytes()) +
               rows.blocks(split) * static_cast<int64_t>(sizeof(uint64_t));
  return bytes;
}

void write_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                         const SkeletonRows& rows) {
  h5::Session session;
  translate_hdf5_errors(path, [&] {
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
    // Dense attributes need format v18. PreallocatedFile holds the lock.
    check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110), "choose the format");
    h5::disable_locking(access);
    Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation_of(H5P_FILE_CREATE), access),
                H5Fclose, "make it");
    make_group(file, hdf5_checksum_group);
    for (size_t split = 0; split < rows.splits(); ++split) {
      make_group(file, hdf5_splits[split]);
      make_group(file, fmt::format("{}{}", hdf5_checksum_group, hdf5_splits[split]));
    }
    for (size_t split = 0; split < rows.splits(); ++split)
      for (size_t column : {0, 1}) make_column(file, spec, rows, split, column);
    check(H5Fflush(file, H5F_SCOPE_LOCAL), "write it");
    file.close_checked("write it");
  });
}

Hdf5Skeleton read_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                                size_t splits) {
  h5::Session session;
  return translate_hdf5_errors(path, [&] {
    Handle file = open_hdf5_file(path);
    Hdf5Skeleton skeleton;
    skeleton.columns.resize(splits);
    for (size_t split = 0; split < splits; ++split)
      for (size_t column : {0, 1}) {
        std::string name = name_of(split, spec.columns[column]);
        skeleton.columns[split][column] = {offset_of(file, name),
                                           offset_of(file, hdf5_checksum_group + name)};
      }
    hsize_t bytes = 0;
    check(H5Fget_filesize(file, &bytes), "read its size");
    skeleton.bytes = static_cast<int64_t>(bytes);
    return skeleton;
  });
}

}  // namespace spire
