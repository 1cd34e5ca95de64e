#include "engine/data/formats/hdf5_file.h"

#include "engine/base/regular_file.h"

namespace spire::inline data {

using h5::check;
using h5::Handle;
namespace fs = std::filesystem;

void require_hdf5_file(const fs::path& path) {
  if (!is_there(path)) fail(Category::data, "{}: no such file; check data.path", path.string());
  RegularFile checked(path, Category::data);  // libhdf5 opens whatever has the name
}

Handle open_hdf5_data(const fs::path& path) {
  require_hdf5_file(path);
  return in_hdf5_file(path, [&] { return h5::open_without_lock(path); });
}

FileStamp stamp_of_hdf5(hid_t file, const fs::path& path) {
  return in_hdf5_file(path, [&] {
    void* descriptor = nullptr;  // of the driver for plain files: a pointer to the system's number
    check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), "look at the open file");
    return stamp_of(*static_cast<const int*>(descriptor), path);
  });
}

}  // namespace spire::inline data
