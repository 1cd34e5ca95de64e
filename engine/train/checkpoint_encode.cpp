#include <spire/base/error.h>
#include <spire/base/hdf5.h>
#include <spire/train/checkpoint_image.h>
#include <spire/train/checkpoint_metadata.h>

#include <algorithm>
#include <array>
#include <functional>

namespace spire {
namespace {

using h5::check;
using h5::Handle;

// Visits ("/weights", tensors), ("/states", ...), ("/optimizer/<slot>", ...) in file order.
void for_each_group(
    const TrainingState& state,
    const std::function<void(const std::string&, const std::vector<NamedTensor>&)>& visit) {
  visit("/weights", state.weights);
  visit("/states", state.states);
  for (const auto& [slot, tensors] : state.optimizer) visit("/optimizer/" + slot, tensors);
}

void require_name(const std::string& name) {
  bool printable = std::all_of(name.begin(), name.end(),
                               [](unsigned char c) { return c > ' ' && c != 127 && c != '/'; });
  require(!name.empty() && name != "." && name != ".." && printable,
          "checkpoint: '{}' cannot be a tensor's name", name);
}

std::vector<std::string> tensor_paths(const TrainingState& state) {
  std::vector<std::string> paths;
  for (const auto& slot : state.optimizer) require_name(slot.first);
  for_each_group(state, [&](const std::string& group, const std::vector<NamedTensor>& tensors) {
    for (const auto& tensor : tensors) {
      require_name(tensor.name);
      require(static_cast<int64_t>(tensor.values.size()) == tensor.shape.elements(),
              "checkpoint: {} has {} values for shape {}", tensor.name, tensor.values.size(),
              to_string(tensor.shape));
      paths.push_back(group + "/" + tensor.name);
    }
  });
  return paths;
}

Handle properties(hid_t kind) {
  return Handle(H5Pcreate(kind), H5Pclose, "make properties");
}

// Groups remember the order of creation, which is the order of the state's vectors.
Handle create_group(hid_t parent, const std::string& name) {
  Handle ordered = properties(H5P_GROUP_CREATE);
  check(H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "order " + name);
  return Handle(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, ordered, H5P_DEFAULT), H5Gclose,
                "create group " + name);
}

Handle space_of(const Shape& shape) {
  std::array<hsize_t, Shape::max_rank> dims{};
  for (int axis = 0; axis < shape.rank(); ++axis)
    dims[static_cast<size_t>(axis)] = static_cast<hsize_t>(shape[axis]);
  hid_t id = shape.rank() == 0 ? H5Screate(H5S_SCALAR)
                               : H5Screate_simple(shape.rank(), dims.data(), nullptr);
  return Handle(id, H5Sclose, "make shape " + to_string(shape));
}

// Writes one dataset; returns where its bytes will lie in the file.
TensorExtent write_tensor(hid_t group, const std::string& path, const NamedTensor& tensor) {
  std::string what = "write " + path;
  Handle plain = properties(H5P_DATASET_CREATE);
  check(H5Pset_obj_track_times(plain, false), what);
  check(H5Pset_layout(plain, H5D_CONTIGUOUS), what);
  Handle space = space_of(tensor.shape);
  Handle dataset(H5Dcreate2(group, tensor.name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, plain,
                            H5P_DEFAULT),
                 H5Dclose, what);
  TensorExtent extent{path, 0, tensor.values.size() * sizeof(float), tensor_checksum(tensor)};
  h5::write_attribute(dataset, "checksum", extent.checksum);
  if (tensor.values.empty()) return extent;
  check(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.values.data()),
        what);
  extent.offset = H5Dget_offset(dataset);
  return extent;
}

std::vector<TensorExtent> write_groups(hid_t file, const TrainingState& state) {
  std::vector<TensorExtent> extents;
  Handle optimizer = create_group(file, "/optimizer");
  for_each_group(state, [&](const std::string& name, const std::vector<NamedTensor>& tensors) {
    Handle group = create_group(file, name);
    for (const auto& tensor : tensors) {
      TensorExtent extent = write_tensor(group, name + "/" + tensor.name, tensor);
      if (extent.bytes > 0) extents.push_back(std::move(extent));
    }
  });
  std::sort(extents.begin(), extents.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return extents;
}

void write_metadata(hid_t file, const TrainingState& state) {
  h5::write_attribute(file, "format", checkpoint_format);
  visit_metadata(
      state, [&](const char* key, const auto& value) { h5::write_attribute(file, key, value); });
  h5::write_attribute(file, "checksum", metadata_checksum(state));
  h5::write_text(file, "config", state.config_yaml);
  h5::write_text(file, "data", state.data_spec);
  if (!state.tuning.empty()) h5::write_text(file, "tuning", state.tuning);
  Handle versions = create_group(file, "/versions");
  for (const auto& [library, version] : state.versions)
    h5::write_attribute(versions, library, version);
}

// A file in memory only: libhdf5 never writes to the disk, so a full one cannot confuse it.
Handle create_in_memory(uint64_t header, size_t expected_bytes) {
  Handle creation = properties(H5P_FILE_CREATE);
  check(H5Pset_userblock(creation, header), "reserve the header");
  check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "order the root");
  Handle access = properties(H5P_FILE_ACCESS);
  check(H5Pset_fapl_core(access, expected_bytes, false), "choose memory");
  return Handle(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation, access), H5Fclose,
                "create a file in memory");
}

std::string image_of(hid_t file) {
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "finish the file in memory");
  ssize_t bytes = check(H5Fget_file_image(file, nullptr, 0), "measure the file in memory");
  std::string image(static_cast<size_t>(bytes), '\0');
  check(H5Fget_file_image(file, image.data(), image.size()), "copy the file in memory");
  return image;
}

size_t expected_bytes(const TrainingState& state) {
  size_t bytes = size_t{1} << 20;
  for_each_group(state, [&](const std::string&, const std::vector<NamedTensor>& tensors) {
    for (const auto& tensor : tensors) bytes += tensor.values.size() * sizeof(float) + 1024;
  });
  return bytes;
}

}  // namespace

CheckpointImage encode_checkpoint(const TrainingState& state) {
  uint64_t block = header_bytes(tensor_paths(state));
  h5::Session session;
  CheckpointImage image;
  std::vector<TensorExtent> extents;
  {
    Handle file = create_in_memory(block, expected_bytes(state));
    write_metadata(file, state);
    extents = write_groups(file, state);
    image.hdf5 = image_of(file);
  }
  image.header = make_header(block, image.hdf5, extents);
  return image;
}

}  // namespace spire
