// Writer of HDF5 files for tests, as h5py writes them: datasets, chunked or not, and attributes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/hdf5.h"

namespace spire {

template <typename T>
hid_t hdf5_type_of();
template <>
inline hid_t hdf5_type_of<uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
inline hid_t hdf5_type_of<uint16_t>() {
  return H5T_NATIVE_UINT16;
}
template <>
inline hid_t hdf5_type_of<int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
inline hid_t hdf5_type_of<int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
inline hid_t hdf5_type_of<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t hdf5_type_of<double>() {
  return H5T_NATIVE_DOUBLE;
}

// The destructor completes the file.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "make") {}

  hid_t id() const { return file_; }

  // chunk 0: contiguous. gzip 0: not compressed.
  template <typename T>
  void put(const std::string& name, const std::vector<hsize_t>& dims, const std::vector<T>& values,
           hsize_t chunk = 0, unsigned gzip = 0) {
    h5::Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "properties");
    H5Pset_create_intermediate_group(links, 1);
    h5::Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
    int rank = static_cast<int>(dims.size());
    if (chunk > 0) {
      std::vector<hsize_t> chunk_dims = dims;
      chunk_dims[0] = chunk;
      H5Pset_chunk(layout, rank, chunk_dims.data());
      if (gzip > 0) H5Pset_deflate(layout, gzip);
    }
    h5::Handle space(H5Screate_simple(rank, dims.data(), nullptr), H5Sclose, "space");
    h5::Handle dataset(
        H5Dcreate2(file_, name.c_str(), hdf5_type_of<T>(), space, links, layout, H5P_DEFAULT),
        H5Dclose, "dataset");
    h5::check(H5Dwrite(dataset, hdf5_type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              "write");
  }

  // Makes an extensible dataset of `rows` numbers without values. Calls set_layout(creation
  // properties, space) for its layout.
  template <typename T, typename SetLayout>
  void make(const std::string& name, hsize_t rows, const SetLayout& set_layout) {
    constexpr hsize_t no_limit = H5S_UNLIMITED;
    h5::Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
    h5::Handle space(H5Screate_simple(1, &rows, &no_limit), H5Sclose, "space");
    h5::check(set_layout(layout, space), "set a layout");
    h5::Handle(
        H5Dcreate2(file_, name.c_str(), hdf5_type_of<T>(), space, H5P_DEFAULT, layout, H5P_DEFAULT),
        H5Dclose, "dataset");
  }

  // Writes all numbers of a dataset of make().
  template <typename T>
  void fill(const std::string& name, const std::vector<T>& values) {
    h5::Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose, "open");
    h5::check(H5Dwrite(dataset, hdf5_type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              "write");
  }

  template <typename T>
  void attribute(const std::string& dataset, const std::string& name,
                 const std::vector<T>& values) {
    put_attribute(dataset, name, hdf5_type_of<T>(), values.size(), values.data());
  }

  // Writes strings of variable length.
  void words(const std::string& dataset, const std::string& name,
             const std::vector<const char*>& values) {
    h5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "type");
    H5Tset_size(type, H5T_VARIABLE);
    put_attribute(dataset, name, type, values.size(), values.data());
  }

 private:
  void put_attribute(const std::string& dataset, const std::string& name, hid_t type, size_t count,
                     const void* values) {
    h5::Handle object(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), H5Dclose, "open");
    hsize_t size = count;
    h5::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "space");
    h5::Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, "make");
    h5::check(H5Awrite(attribute, type, values), "write");
  }

  h5::Session session_;
  h5::Handle file_;
};

// Writes a file of the groups train and test: put(file, "train/") writes what is in the first.
template <typename Put>
void write_parts(const std::filesystem::path& path, const Put& put) {
  Hdf5File file(path);
  for (const std::string part : {"train/", "test/"}) put(file, part);
}

}  // namespace spire
