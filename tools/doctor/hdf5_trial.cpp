// Reading an HDF5 file in order, as training reads it: whole chunks, one after another.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/hdf5.h"
#include "engine/base/system.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using h5::check;
using h5::Handle;

constexpr uint64_t block_bytes = uint64_t{4} << 20;  // of rows that are read at a time, about
constexpr double slow_hdf5 = 50e6;                   // bytes a second

struct Named {
  std::string name;
  hsize_t bytes = 0;  // as stored
};

// Keeps the largest dataset of numbers. Links into other files are not followed.
herr_t keep_largest(hid_t group, const char* name, const H5L_info_t* link, void* kept) {
  if (link->type != H5L_TYPE_HARD) return 0;
  hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return 0;
  if (H5Iget_type(object) == H5I_DATASET) {
    hid_t type = H5Dget_type(object);
    H5T_class_t kind = H5Tget_class(type);
    H5Tclose(type);
    auto& largest = *static_cast<Named*>(kept);
    hsize_t bytes = H5Dget_storage_size(object);
    if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && bytes > largest.bytes)
      largest = {name, bytes};
  }
  H5Oclose(object);
  return 0;
}

std::vector<hsize_t> shape_of(hid_t dataset) {
  Handle space(H5Dget_space(dataset), H5Sclose, "read a shape");
  std::vector<hsize_t> shape(static_cast<size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  if (!shape.empty())
    check(H5Sget_simple_extent_dims(space, shape.data(), nullptr), "read a shape");
  return shape;
}

// Rows of a chunk; 1 where the dataset has none.
hsize_t chunk_rows(hid_t dataset, size_t rank) {
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  std::vector<hsize_t> chunk(rank, 1);
  if (H5Pget_layout(creation) == H5D_CHUNKED)
    check(H5Pget_chunk(creation, static_cast<int>(rank), chunk.data()), "read the chunks");
  return chunk[0];
}

// Reads rows from the first on until a limit is reached.
void read_rows(hid_t dataset, const TrialLimits& limits, Hdf5Trial& trial) {
  std::vector<hsize_t> shape = shape_of(dataset);
  if (shape.empty()) return;
  Handle stored(H5Dget_type(dataset), H5Tclose, "read a type");
  Handle type(H5Tget_native_type(stored, H5T_DIR_DEFAULT), H5Tclose, "read a type");
  hsize_t row = std::accumulate(shape.begin() + 1, shape.end(), hsize_t{H5Tget_size(type)},
                                std::multiplies<>());
  hsize_t chunk = chunk_rows(dataset, shape.size());
  hsize_t rows = std::max<hsize_t>(1, block_bytes / std::max<hsize_t>(1, row * chunk)) * chunk;
  rows = std::min(rows, shape[0]);
  if (rows * row > 4 * limits.bytes) return;  // chunks that do not belong to samples
  std::vector<char> memory(rows * row);
  Handle space(H5Dget_space(dataset), H5Sclose, "read a shape");
  std::vector<hsize_t> first(shape.size(), 0), count = shape;
  auto begin = Clock::now();
  for (; first[0] < shape[0] && trial.bytes < limits.bytes && trial.seconds < limits.seconds;
       first[0] += rows) {
    count[0] = std::min(rows, shape[0] - first[0]);
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr),
          "select rows");
    Handle block(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                 "select rows");
    check(H5Dread(dataset, type, block, space, H5P_DEFAULT, memory.data()), "read rows");
    trial.bytes += count[0] * row;
    trial.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
}

void read_largest(hid_t file, const TrialLimits& limits, Hdf5Trial& trial) {
  Named largest;
  check(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, keep_largest, &largest), "list datasets");
  if (largest.name.empty()) return;
  trial.what += ", " + largest.name;
  Handle dataset(H5Dopen2(file, largest.name.c_str(), H5P_DEFAULT), H5Dclose, "open a dataset");
  read_rows(dataset, limits, trial);
}

// Images of 28 x 28 bytes, in chunks of 128, as `trainer dataset convert` might write them.
void write_images(hid_t file, uint64_t bytes) {
  const hsize_t chunk[] = {128, 28, 28};
  const hsize_t shape[] = {std::max<hsize_t>(1, bytes / (28 * 28)), 28, 28};
  Handle space(H5Screate_simple(3, shape, nullptr), H5Sclose, "make a dataset");
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a dataset");
  if (shape[0] >= chunk[0]) check(H5Pset_chunk(creation, 3, chunk), "make a dataset");
  Handle dataset(
      H5Dcreate2(file, "images", H5T_NATIVE_UINT8, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose, "make a dataset");
  std::vector<uint8_t> images(shape[0] * 28 * 28);
  for (size_t i = 0; i < images.size(); ++i)
    images[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  check(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, images.data()),
        "write a dataset");
}

// Writes what libhdf5 holds back, and drops the file from the system's cache.
void empty_caches(hid_t file) {
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "write the file");
  void* descriptor = nullptr;  // of the driver sec2: pointer to the file descriptor
  check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), "look at the open file");
  fsync(*static_cast<const int*>(descriptor));
  posix_fadvise(*static_cast<const int*>(descriptor), 0, 0, POSIX_FADV_DONTNEED);
}

// Returns a new file of which no name is left, so that it is gone when the process ends.
Handle nameless_file(const fs::path& folder) {
  std::string name = (folder / ".spire-doctor-XXXXXX").string();
  int made = mkostemp(name.data(), O_CLOEXEC);
  if (made < 0) fail(Category::device, "{}: {}", folder.string(), system_reason(errno));
  close(made);
  try {
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a file");
    h5::disable_locking(access);
    Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                "make a file");
    unlink(name.c_str());
    return file;
  } catch (const Error&) {
    unlink(name.c_str());
    throw;
  }
}

}  // namespace

Hdf5Trial try_hdf5(const fs::path& path, const TrialLimits& limits) {
  Hdf5Trial trial{.what = path.string(), .problem = ""};
  try {
    h5::Session session;
    Handle file = h5::open_without_lock(path);
    read_largest(file, limits, trial);
  } catch (const Error& error) {
    trial.problem = error.what();
  }
  return trial;
}

Hdf5Trial try_made_hdf5(const fs::path& folder, const TrialLimits& limits) {
  Hdf5Trial trial{.what = "a file made for this", .problem = ""};
  try {
    h5::Session session;
    Handle file = nameless_file(existing_folder(folder));
    write_images(file, limits.bytes);
    empty_caches(file);
    read_largest(file, limits, trial);
  } catch (const Error& error) {
    trial.problem = error.what();
  }
  return trial;
}

Finding check_hdf5(const Hdf5Trial& trial) {
  if (!trial.problem.empty())
    return {"hdf5", FindingLevel::fail, fmt::format("{}: {}", trial.what, trial.problem),
            "check the disk and the file (trainer dataset verify)"};
  if (trial.bytes == 0)
    return {"hdf5", FindingLevel::ok, fmt::format("{} has no rows of numbers to read", trial.what)};
  double rate = static_cast<double>(trial.bytes) / std::max(trial.seconds, 1e-9);
  Finding finding{"hdf5", FindingLevel::ok,
                  fmt::format("{} read in order, with libhdf5 {}: {}", rate_text(rate),
                              h5::library_version(), trial.what)};
  finding.values = {{"read_bytes_per_s", rate}};
  if (rate >= slow_hdf5) return finding;
  return warning(
      std::move(finding),
      "reading may be slower than training; copy the file to a local disk, or write it again "
      "with chunks of whole samples (trainer dataset convert)");
}

}  // namespace spire
