// HDF5 files of samples as libhdf5 opens them. The caller holds a h5::Session.
#pragma once
#include <filesystem>

#include <spire/error.h>

#include "engine/base/hdf5.h"
#include "engine/base/read_file.h"
#include "engine/data/steady_file.h"

namespace spire::inline data {

// Throws Error(data) unless it is there and a regular file.
void require_hdf5_file(const std::filesystem::path& path);

// The file, opened for reading without a lock unless HDF5_USE_FILE_LOCKING asks for one.
h5::Handle open_hdf5_data(const std::filesystem::path& path);

// Which file libhdf5 has open.
FileStamp stamp_of_hdf5(hid_t file, const std::filesystem::path& path);

// Runs `body` with libhdf5's errors as Error(data) that begin with the file's path and say what to
// do.
template <typename Body>
auto in_hdf5_file(const std::filesystem::path& path, const Body& body) {
  try {
    return body();
  } catch (const h5::UnknownVersion& error) {
    fail(Category::data,
         "{}: {}; the file is of a newer HDF5 library than the {} that this program has: write it "
         "again in the older form, in h5py with libver=('earliest', 'v110')",
         path.string(), error.what(), h5::library_version());
  } catch (const UnreadableFile& error) {  // or one that cannot be written
    Category category =
        error.category() == Category::checkpoint ? Category::data : error.category();
    fail(category, "{}: {}; check the disk", path.string(), error.what());
  } catch (const Error& error) {
    if (error.category() != Category::checkpoint) throw;
    fail(Category::data, "{}: {}; get an intact copy", path.string(), error.what());
  }
}

}  // namespace spire::inline data
