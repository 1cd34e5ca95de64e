#include "engine/checkpoint/checkpoint_hdf5.h"

#include <algorithm>
#include <array>

#include "engine/base/fail.h"
#include "engine/base/hdf5_program.h"
#include "engine/base/text.h"

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

Handle open_group(hid_t parent, const std::string& name) {
  return Handle(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, "open group " + name);
}

// Returns the names of a group's members in the order they were written.
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
         +Shape::max_rank);
  std::array<hsize_t, Shape::max_rank> stored{};
  check(H5Sget_simple_extent_dims(space, stored.data(), nullptr), "read the shape of " + path);
  std::array<int64_t, Shape::max_rank> dims{};
  for (size_t axis = 0; axis < dims.size(); ++axis) dims[axis] = static_cast<int64_t>(stored[axis]);
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)));
}

// Returns the offset of the dataset's values in the file. They must be contiguous float32, and lie
// exactly where the verified header says: what libhdf5 reads is not trusted on its own.
uint64_t offset_of(hid_t dataset, const std::string& path, const Shape& shape,
                   const Header& header) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + path);
  Handle made(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + path);
  bool plain = H5Tequal(type, H5T_IEEE_F32LE) > 0 && H5Pget_layout(made) == H5D_CONTIGUOUS &&
               H5Pget_external_count(made) == 0;
  if (!plain) fail(Category::checkpoint, "tensor {} is not of plain float32", path);
  std::string checksum;
  h5::read_attribute(dataset, "checksum", checksum);
  if (shape.elements() == 0) return 0;
  // So that the bytes below cannot overflow.
  if (static_cast<uint64_t>(shape.elements()) > header.file_bytes)
    fail(Category::checkpoint, "tensor {} is larger than the file", path);
  auto offset = static_cast<uint64_t>(H5Dget_offset(dataset));
  auto bytes = static_cast<uint64_t>(shape.elements()) * sizeof(float);
  // Extents are in ascending order of offsets: check_extents().
  auto extent =
      std::lower_bound(header.extents.begin(), header.extents.end(), offset,
                       [](const TensorExtent& each, uint64_t at) { return each.offset < at; });
  bool agrees = extent != header.extents.end() && extent->offset == offset &&
                extent->bytes == bytes && extent->name == path && extent->checksum == checksum;
  if (!agrees) fail(Category::checkpoint, "tensor {} is not as the header says", path);
  return offset;
}

void read_group(hid_t file, const std::string& path, const Header& header,
                CheckpointContents& contents) {
  Handle group = open_group(file, path);
  TensorGroup& entries = contents.groups.emplace_back(TensorGroup{path, {}});
  std::vector<uint64_t>& offsets = contents.offsets.emplace_back();
  for (const auto& name : members(group, path)) {
    std::string tensor = path + "/" + name;
    Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + tensor);
    entries.tensors.push_back({name, shape_of(dataset, tensor)});
    offsets.push_back(offset_of(dataset, tensor, entries.tensors.back().shape, header));
  }
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

// Each attribute of /versions is a library.
void read_versions(hid_t file, StateMetadata& state) {
  Handle group = open_group(file, "/versions");
  std::vector<std::string> libraries;
  check(H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &libraries),
        "list /versions");
  for (const auto& library : libraries) h5::read_attribute(group, library, state.versions[library]);
}

// Another format is no damage: the file stays, and no older one takes its place.
void require_format(hid_t file, const std::filesystem::path& path) {
  int64_t found = 0;
  h5::read_attribute(file, "format", found);
  if (found != checkpoint_format)
    throw UnreadableFile(
        Category::checkpoint,
        fmt::format("checkpoint {}: it has format {}, but this program reads {}; use {} version "
                    "of Spire",
                    printable(path.string()), found, checkpoint_format,
                    found > checkpoint_format ? "a newer" : "an older"));
}

void read_metadata(hid_t file, StateMetadata& state) {
  visit_metadata(state,
                 [&](const char* key, auto& value) { h5::read_attribute(file, key, value); });
  h5::read_text(file, "config", state.config_yaml);
  h5::read_text(file, "data", state.data_spec);
  if (check(H5Lexists(file, "guard", H5P_DEFAULT), "look for guard") > 0)
    h5::read_text(file, "guard", state.guard);
  // A run on CPUs has chosen no engines and writes no `tuning`.
  if (check(H5Lexists(file, "tuning", H5P_DEFAULT), "look for tuning") > 0)
    h5::read_text(file, "tuning", state.tuning);
  if (check(H5Lexists(file, "audit", H5P_DEFAULT), "look for audit") > 0)
    h5::read_text(file, "audit", state.audit);
  if (std::string others; check(H5Lexists(file, "evaluation", H5P_DEFAULT), "look for it") > 0) {
    h5::read_text(file, "evaluation", others);
    read_others(others, state);
  }
  read_versions(file, state);
  std::string checksum;
  h5::read_attribute(file, "checksum", checksum);
  if (checksum != metadata_checksum(state))
    fail(Category::checkpoint, "its metadata fail their checksum");
  require_ranges(state);
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

CheckpointContents read_contents(const std::filesystem::path& path, const Header& header) {
  h5::Session session;
  Handle file = h5::open_without_lock(path);
  CheckpointContents contents;
  require_format(file, path);
  read_metadata(file, contents.metadata);
  read_group(file, weights_group, header, contents);
  read_group(file, states_group, header, contents);
  Handle optimizer = open_group(file, "/optimizer");
  for (const auto& slot : members(optimizer, "/optimizer"))
    read_group(file, optimizer_groups + slot, header, contents);
  return contents;
}

// What it finds wrong is said by the program that reads the file next: here it only matters that
// reading ends.
void checkpoint_check_main(const std::filesystem::path& path) {
  h5::end_with_verdict(path, Category::checkpoint, [&] {
    try {
      read_contents(path, read_header(CheckpointBytes(path)));
    } catch (const Error&) {
    }
  });
}

}  // namespace spire
