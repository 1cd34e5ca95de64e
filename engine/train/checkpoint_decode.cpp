#include <spire/base/error.h>
#include <spire/base/hdf5.h>
#include <spire/train/checkpoint_image.h>
#include <spire/train/checkpoint_metadata.h>

#include <array>

namespace spire {
namespace {

using h5::check;
using h5::Handle;

Handle open_group(hid_t parent, const std::string& name) {
  return Handle(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, "open group " + name);
}

// Names of a group's members in the order they were written.
std::vector<std::string> members(hid_t group, const std::string& what) {
  H5G_info_t info{};
  check(H5Gget_info(group, &info), "list " + what);
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    auto link = [&](char* out, size_t bytes) {
      return check(H5Lget_name_by_idx(group, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, out, bytes,
                                      H5P_DEFAULT),
                   "list " + what);
    };
    std::string name(static_cast<size_t>(link(nullptr, 0)), '\0');
    link(name.data(), name.size() + 1);  // HDF5 ends it with a null
    names.push_back(std::move(name));
  }
  return names;
}

Shape shape_of(hid_t dataset, const std::string& path) {
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + path);
  int rank = check(H5Sget_simple_extent_ndims(space), "read the shape of " + path);
  if (rank > Shape::max_rank)
    fail(Category::checkpoint, "tensor {} has {} dimensions, at most {} are supported", path, rank,
         Shape::max_rank);
  std::array<hsize_t, Shape::max_rank> stored{};
  check(H5Sget_simple_extent_dims(space, stored.data(), nullptr), "read the shape of " + path);
  std::array<int64_t, Shape::max_rank> dims{};
  for (size_t axis = 0; axis < dims.size(); ++axis) dims[axis] = static_cast<int64_t>(stored[axis]);
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)));
}

NamedTensor read_tensor(hid_t group, const std::string& name, const std::string& path) {
  Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  NamedTensor tensor{name, shape_of(dataset, path), {}};
  tensor.values.resize(static_cast<size_t>(tensor.shape.elements()));
  if (!tensor.values.empty())
    check(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.values.data()),
          "read " + path);
  std::string checksum;
  h5::read_attribute(dataset, "checksum", checksum);
  if (checksum != tensor_checksum(tensor))
    fail(Category::checkpoint, "tensor {} fails its checksum", path);
  return tensor;
}

std::vector<NamedTensor> read_tensors(hid_t file, const std::string& path) {
  Handle group = open_group(file, path);
  std::vector<NamedTensor> tensors;
  for (const auto& name : members(group, path))
    tensors.push_back(read_tensor(group, name, path + "/" + name));
  return tensors;
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

void read_versions(hid_t file, TrainingState& state) {
  Handle group = open_group(file, "/versions");
  std::vector<std::string> libraries;
  check(H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &libraries),
        "list /versions");
  for (const auto& library : libraries) h5::read_attribute(group, library, state.versions[library]);
}

void require_format(hid_t file) {
  int64_t found = 0;
  h5::read_attribute(file, "format", found);
  if (found != checkpoint_format)
    fail(Category::checkpoint,
         "it has format {}, but this program reads {}; use another version of Spire", found,
         checkpoint_format);
}

void read_metadata(hid_t file, TrainingState& state) {
  visit_metadata(state,
                 [&](const char* key, auto& value) { h5::read_attribute(file, key, value); });
  h5::read_text(file, "config", state.config_yaml);
  h5::read_text(file, "data", state.data_spec);
  if (check(H5Lexists(file, "tuning", H5P_DEFAULT), "look for tuning") > 0)
    h5::read_text(file, "tuning", state.tuning);
  read_versions(file, state);
  std::string checksum;
  h5::read_attribute(file, "checksum", checksum);
  if (checksum != metadata_checksum(state))
    fail(Category::checkpoint, "its metadata fail their checksum");
}

// No lock is taken: the file never changes under its name, and some network disks have no locks.
Handle open_unlocked(const std::filesystem::path& path) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  check(H5Pset_file_locking(access, false, true), "choose no locking");
  return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "open it");
}

}  // namespace

TrainingState decode_checkpoint(const std::filesystem::path& path) {
  h5::Session session;
  Handle file = open_unlocked(path);
  TrainingState state;
  require_format(file);
  read_metadata(file, state);
  state.weights = read_tensors(file, "/weights");
  state.states = read_tensors(file, "/states");
  Handle optimizer = open_group(file, "/optimizer");
  for (const auto& slot : members(optimizer, "/optimizer"))
    state.optimizer.emplace_back(slot, read_tensors(file, "/optimizer/" + slot));
  return state;
}

}  // namespace spire
