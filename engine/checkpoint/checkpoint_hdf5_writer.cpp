#include <algorithm>
#include <array>

#include <spire/error.h>

#include "engine/base/hdf5.h"
#include "engine/checkpoint/checkpoint_hdf5.h"

namespace spire {
namespace {

using h5::check;
using h5::Handle;

// HDF5 reads '/' as a path; blanks would split the header's lines.
void require_name(const std::string& name) {
  bool printable = std::all_of(name.begin(), name.end(),
                               [](unsigned char c) { return c > ' ' && c != 127 && c != '/'; });
  require(!name.empty() && name != "." && name != ".." && printable,
          "checkpoint: '{}' cannot be a tensor's name", name);
}

std::vector<std::string> tensor_paths(const std::vector<TensorGroup>& groups) {
  std::vector<std::string> paths;
  for (const TensorGroup& group : groups) {
    if (group.path.starts_with(optimizer_groups))
      require_name(group.path.substr(std::string_view(optimizer_groups).size()));
    for (const TensorEntry& tensor : group.tensors) {
      require_name(tensor.name);
      paths.push_back(group.path + "/" + tensor.name);
    }
  }
  return paths;
}

Handle properties(hid_t kind) {
  return Handle(H5Pcreate(kind), H5Pclose, "make properties");
}

// Creates a group that keeps the order of creation, which is the order of the state's vectors.
Handle create_group(hid_t parent, const std::string& name) {
  Handle ordered = properties(H5P_GROUP_CREATE);
  check(H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "order " + name);
  return Handle(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, ordered, H5P_DEFAULT), H5Gclose,
                "create group " + name);
}

// A scalar has a space of its own kind: rank 0 is none of H5Screate_simple's.
Handle space_of(const Shape& shape) {
  std::array<hsize_t, Shape::max_rank> dims{};
  for (int axis = 0; axis < shape.rank(); ++axis)
    dims[static_cast<size_t>(axis)] = static_cast<hsize_t>(shape[axis]);
  hid_t id = shape.rank() == 0 ? H5Screate(H5S_SCALAR)
                               : H5Screate_simple(shape.rank(), dims.data(), nullptr);
  return Handle(id, H5Sclose, "make shape " + to_string(shape));
}

// Makes one dataset whose space in the file is allocated at once, and into which the library writes
// nothing: neither values nor fill values. No times are recorded, so that equal states give equal
// bytes.
TensorExtent place_tensor(hid_t group, const std::string& path, const TensorEntry& tensor,
                          const std::string& checksum) {
  std::string what = "place " + path;
  Handle plain = properties(H5P_DATASET_CREATE);
  check(H5Pset_obj_track_times(plain, false), what);
  check(H5Pset_layout(plain, H5D_CONTIGUOUS), what);
  check(H5Pset_alloc_time(plain, H5D_ALLOC_TIME_EARLY), what);
  check(H5Pset_fill_time(plain, H5D_FILL_TIME_NEVER), what);
  Handle space = space_of(tensor.shape);
  Handle dataset(H5Dcreate2(group, tensor.name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, plain,
                            H5P_DEFAULT),
                 H5Dclose, what);
  TensorExtent extent{path, 0, static_cast<uint64_t>(tensor.shape.elements()) * sizeof(float),
                      checksum};
  h5::write_attribute(dataset, "checksum", checksum);
  if (extent.bytes > 0) extent.offset = H5Dget_offset(dataset);
  return extent;
}

std::vector<TensorExtent> place_groups(hid_t file, const std::vector<TensorGroup>& groups,
                                       std::span<const std::string> checksums) {
  std::vector<TensorExtent> extents;
  Handle optimizer = create_group(file, "/optimizer");
  for (const TensorGroup& group : groups) {
    Handle made = create_group(file, group.path);
    for (const TensorEntry& tensor : group.tensors)
      extents.push_back(
          place_tensor(made, group.path + "/" + tensor.name, tensor, checksums[extents.size()]));
  }
  return extents;
}

void write_metadata(hid_t file, const StateMetadata& state) {
  h5::write_attribute(file, "format", checkpoint_format);
  visit_metadata(
      state, [&](const char* key, const auto& value) { h5::write_attribute(file, key, value); });
  h5::write_attribute(file, "checksum", metadata_checksum(state));
  h5::write_text(file, "config", state.config_yaml);
  h5::write_text(file, "data", state.data_spec);
  if (!state.guard.empty()) h5::write_text(file, "guard", state.guard);
  if (!state.tuning.empty()) h5::write_text(file, "tuning", state.tuning);
  if (!state.audit.empty()) h5::write_text(file, "audit", state.audit);
  if (!state.evaluated_others.empty()) h5::write_text(file, "evaluation", others_text(state));
  Handle versions = create_group(file, "/versions");
  for (const auto& [library, version] : state.versions)
    h5::write_attribute(versions, library, version);
}

// Creates the file in memory: the library never writes to the disk, so a full one cannot confuse
// it.
Handle create_in_memory(h5::SparseFile& file, uint64_t header) {
  Handle creation = properties(H5P_FILE_CREATE);
  check(H5Pset_userblock(creation, header), "reserve the header");
  check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "order the root");
  return file.create(creation);
}

}  // namespace

CheckpointLayout lay_out_checkpoint(const StateMetadata& metadata,
                                    const std::vector<TensorGroup>& groups,
                                    std::span<const std::string> checksums) {
  CheckpointLayout layout;
  std::vector<std::string> paths = tensor_paths(groups);
  require(paths.size() == checksums.size(), "{} checksums of {} tensors", checksums.size(),
          paths.size());
  layout.block = header_bytes(paths);
  h5::Session session;
  Handle file = create_in_memory(layout.structure, layout.block);
  write_metadata(file, metadata);
  layout.extents = place_groups(file, groups, checksums);
  return layout;
}

}  // namespace spire
