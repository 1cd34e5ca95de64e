#include <spire/base/error.h>
#include <spire/data/hdf5_table.h>

#include <algorithm>
#include <array>

namespace spire {
namespace {

using h5::check;
using h5::Handle;
namespace fs = std::filesystem;

constexpr int most_rank = 4;
constexpr int64_t most_row_bytes = int64_t{1} << 30;
constexpr uint64_t most_chunk_bytes = uint64_t{1} << 30;  // libhdf5 decodes whole ones
constexpr uint64_t most_compression = 1 << 15;  // filters make of a byte no more than this

enum class Numbers { bytes, integers, floats };

Numbers numbers_of(hid_t dataset, const std::string& place) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE ? Numbers::bytes
                                                                         : Numbers::integers;
    case H5T_FLOAT:
      return Numbers::floats;
    default:
      fail(Category::data, "{}: holds neither integers nor floating-point numbers", place);
  }
}

bool fits_f32(hid_t dataset) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  return H5Tget_size(type) <= (H5Tget_class(type) == H5T_FLOAT ? 4 : 2);
}

herr_t collect_dataset(hid_t group, const char* name, const H5L_info_t*, void* names) {
  hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return 0;  // a link to nowhere
  if (H5Iget_type(object) == H5I_DATASET)
    static_cast<std::vector<std::string>*>(names)->push_back(name);
  H5Oclose(object);
  return 0;
}

[[noreturn]] void fail_missing(const fs::path& path, hid_t file, const std::string& name) {
  std::vector<std::string> names;
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &names);
  std::string near = nearest(name, names);
  fail(Category::data, "{}: no dataset '{}'{}; it has: {}; set data.hdf5.*", path.string(), name,
       near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

// What this program does not follow, and chunks that no memory holds.
void check_layout(hid_t creation, size_t element_bytes, const std::string& place) {
  H5D_layout_t layout = check(H5Pget_layout(creation), "read the layout");
  if (layout == H5D_VIRTUAL || check(H5Pget_external_count(creation), "read the layout") > 0)
    fail(Category::data,
         "{}: its numbers lie in other files; copy them into this one, with h5py's "
         "create_dataset(name, data=dataset[:])",
         place);
  if (layout != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  int rank = check(H5Pget_chunk(creation, H5S_MAX_RANK, dims.data()), "read the layout");
  uint64_t bytes = element_bytes;
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(bytes, dims[static_cast<size_t>(axis)], &bytes) ||
        bytes > most_chunk_bytes)
      fail(Category::data,
           "{}: chunks of over {} MiB; make smaller ones with trainer dataset convert", place,
           most_chunk_bytes >> 20);
}

// `name`, or for auto the first of those in the group; when there is none, the first one.
std::string chosen(hid_t file, const std::string& name, const std::string& group,
                   std::initializer_list<const char*> known) {
  if (name != "auto") return name;
  if (H5Lexists(file, group.c_str(), H5P_DEFAULT) > 0)
    for (const char* each : known)
      if (H5Lexists(file, (group + "/" + each).c_str(), H5P_DEFAULT) > 0) return group + "/" + each;
  return group + "/" + *known.begin();
}

// Room for some chunks of a target, which may be far longer than those of the input.
Handle access_of(hid_t creation, size_t element_bytes) {
  Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "make properties");
  std::array<hsize_t, most_rank> dims{};
  constexpr size_t least = size_t{1} << 20, most = size_t{64} << 20;
  size_t bytes = element_bytes;
  int rank =
      H5Pget_layout(creation) == H5D_CHUNKED ? H5Pget_chunk(creation, most_rank, dims.data()) : 0;
  for (int axis = 0; axis < std::min(rank, most_rank); ++axis) {
    hsize_t dim = dims[static_cast<size_t>(axis)];
    bytes = dim > most / std::max<size_t>(1, bytes) ? most : bytes * dim;
  }
  check(H5Pset_chunk_cache(access, 521, std::max(least, bytes), 1.0), "size the chunk cache");
  return access;
}

}  // namespace

Handle open_hdf5_data(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    fail(Category::data, "{}: no such file; check data.path", path.string());
  if (!fs::is_regular_file(path, error))
    fail(Category::data, "{}: is no file; data.path names the HDF5 file itself", path.string());
  return in_hdf5_file(path, [&] {
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
    // The variable HDF5_USE_FILE_LOCKING, where it is set, wins over this.
    check(H5Pset_file_locking(access, false, true), "choose no locking");
    return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "open it");
  });
}

Hdf5Table::Hdf5Table(const fs::path& file, const Hdf5Half& half, const std::string& group)
    : path_(file),
      file_(open_hdf5_data(file)),
      names_{chosen(file_, half.input, group, {"images", "features", "tokens"}),
             chosen(file_, half.target, group, {"labels", "values", "targets"})} {
  in_hdf5_file(path_, [&] {
    for (size_t column : {0, 1}) {
      datasets_.push_back(open_dataset(names_[column]));
      describe(column);
    }
    bool whole = numbers_of(datasets_[0], place(0)) != Numbers::floats;
    if (columns_[1].name == "targets" && columns_[0].name == "features" && whole)
      columns_[0] = {"tokens", columns_[0].shape, DType::i32}, memory_types_[0] = H5T_NATIVE_INT32;
    if (columns_[1].name == "targets" && columns_[0].shape != columns_[1].shape)
      fail(
          Category::data,
          "{}: rows of {} but {} has rows of {}; a token has one target, and a label is one number "
          "a row (N): of one-hot rows store argmax(axis=1)",
          place(0), to_string(columns_[0].shape), names_[1], to_string(columns_[1].shape));
  });
}

std::string Hdf5Table::place(size_t column) const {
  return fmt::format("{}: {}", path_.string(), names_[column]);
}

Handle Hdf5Table::open_dataset(const std::string& name) const {
  hid_t id = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
  if (id < 0) fail_missing(path_, file_, name);
  Handle dataset(id, H5Dclose, "open " + name);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout of " + name);
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type of " + name);
  check_layout(creation, H5Tget_size(type), fmt::format("{}: {}", path_.string(), name));
  Handle access = access_of(creation, H5Tget_size(type));
  if (datasets_.empty())  // whole chunks of the input are read, each into the cache of its own
    check(H5Pset_chunk_cache(access, 0, 0, 0), "size the chunk cache");
  return Handle(H5Dopen2(file_, name.c_str(), access), H5Dclose, "open " + name);
}

// The column's shape and type. `row` is its shape without the first dimension.
void Hdf5Table::describe(size_t column) {
  hid_t dataset = datasets_[column];
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + names_[column]);
  int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > most_rank)
    fail(Category::data, "{}: has {} dimensions, expected 1 to {}", place(column), rank, most_rank);
  std::array<hsize_t, most_rank> dims{};
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
  check_storage(column, rank, dims.data());
  std::vector<int64_t> row(dims.begin() + 1, dims.begin() + rank);
  if (column == 1) {
    if (static_cast<int64_t>(dims[0]) != count_)
      fail(Category::data, "{}: {} rows but {} has {}; they are of different sets", place(1),
           dims[0], names_[0], count_);
    return describe_target(row);
  }
  count_ = static_cast<int64_t>(dims[0]);
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  if (H5Pget_layout(creation) == H5D_CHUNKED) {
    std::array<hsize_t, most_rank> chunk{};
    check(H5Pget_chunk(creation, most_rank, chunk.data()), "read the layout");
    chunk_rows_ = static_cast<int64_t>(std::min(chunk[0], dims[0]));
  }
  describe_input(row);
}

void Hdf5Table::describe_input(std::vector<int64_t> row) {
  bool bytes = numbers_of(datasets_[0], place(0)) == Numbers::bytes;
  if (row.size() == 1) {
    bool exact = fits_f32(datasets_[0]);
    columns_.push_back({"features", Shape(row), exact ? DType::f32 : DType::f64});
    memory_types_.push_back(exact ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
    return;
  }
  if (!bytes || row.empty())
    fail(Category::data, "{}: is neither images (N, H, W, C) of 8-bit integers nor features (N, F)",
         place(0));
  if (row.size() == 2) row.push_back(1);
  if (row[2] > 4 && row[0] <= 4)
    fail(Category::data, "{}: images of {}; channels are the last dimension: (N, H, W, C)",
         place(0), to_string(Shape(row)));
  columns_.push_back({"images", Shape(row), DType::u8});
  memory_types_.push_back(H5T_NATIVE_UINT8);
}

void Hdf5Table::describe_target(std::vector<int64_t> row) {
  bool floats = numbers_of(datasets_[1], place(1)) == Numbers::floats;
  if (row.size() > 1)
    fail(Category::data, "{}: {} dimensions, expected 1 or 2", place(1), row.size() + 1);
  const char* name = floats ? "values" : row.empty() ? "labels" : "targets";
  if (floats && row.empty()) row.push_back(1);
  columns_.push_back({name, Shape(row), floats ? DType::f32 : DType::i32});
  memory_types_.push_back(floats ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT32);
}

// Sizes that the file can account for: a damaged header says anything.
void Hdf5Table::check_storage(size_t column, int rank, const hsize_t* dims) const {
  uint64_t row = 8;  // bytes of an element in memory, at most
  for (int axis = 1; axis < rank; ++axis)
    if (dims[axis] == 0 || __builtin_mul_overflow(row, dims[axis], &row) || row > most_row_bytes)
      fail(Category::data, "{}: dimension {} is {}; the file is damaged or no set of samples",
           place(column), axis, dims[axis]);
  if (dims[0] == 0) fail(Category::data, "{}: holds no samples", place(column));
  uint64_t total = 0, stored = H5Dget_storage_size(datasets_[column]);
  if (__builtin_mul_overflow(row, dims[0], &total) || total / most_compression > stored)
    fail(Category::data, "{}: {} rows, but the file holds {} bytes of it; get an intact copy",
         place(column), dims[0], stored);
}

void Hdf5Table::read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const {
  for (size_t column : {0, 1}) {
    if (columns[column] == nullptr) continue;
    in_hdf5_file(path_, [&] {
      std::string what =
          fmt::format("read rows {} to {} of {}", first, first + rows - 1, names_[column]);
      Handle from(H5Dget_space(datasets_[column]), H5Sclose, what);
      std::array<hsize_t, most_rank> start{}, extent{};
      check(H5Sget_simple_extent_dims(from, extent.data(), nullptr), what);
      start[0] = static_cast<hsize_t>(first);
      extent[0] = static_cast<hsize_t>(rows);
      check(
          H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
          what);
      int rank = check(H5Sget_simple_extent_ndims(from), what);
      Handle to(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose, what);
      check(
          H5Dread(datasets_[column], memory_types_[column], to, from, H5P_DEFAULT, columns[column]),
          what);
    });
  }
}

}  // namespace spire
