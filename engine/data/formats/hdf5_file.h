// HDF5 data files: opening, errors as Error(data), and names resolved within the one file. The
// caller holds a h5::Session, as for every use of libhdf5.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/error.h>

#include "engine/base/hdf5.h"
#include "engine/base/read_file.h"
#include "engine/data/change_detection.h"

namespace spire::inline data {

// Throws Error(data) unless `path` exists and is a regular file.
void require_hdf5_file(const std::filesystem::path& path);

// Opens the file for reading, without a lock. Throws as require_hdf5_file, too.
h5::Handle open_hdf5_file(const std::filesystem::path& path);

// Returns the stamp of the file that libhdf5 has open.
FileStamp stamp_of_hdf5(hid_t file, const std::filesystem::path& path);

// Runs `body` and rethrows libhdf5's errors as Error(data) that begin with the path and end with
// advice.
template <typename Body>
auto translate_hdf5_errors(const std::filesystem::path& path, const Body& body) {
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

// libhdf5's cache of decoded chunks for an open dataset; none by default: every read decodes.
struct ChunkCache {
  size_t slots = 0, bytes = 0;
};

// Opens datasets by name without following links into other files. Errors are Error(data) and begin
// with the path.
class Hdf5LinkResolver {
 public:
  // `file` must outlive this; `path` is for messages.
  Hdf5LinkResolver(hid_t file, std::filesystem::path path);
  Hdf5LinkResolver(const Hdf5LinkResolver&) = delete;
  Hdf5LinkResolver& operator=(const Hdf5LinkResolver&) = delete;

  // Returns whether a name exists, a dangling link included. Throws for a group on the way that is
  // a dangling or external link.
  bool has(const std::string& name) const;
  // Throws for a name that is missing, is no dataset or a dangling or external link, with the
  // reason.
  h5::Handle open_dataset(const std::string& name, const ChunkCache& cache = {}) const;
  // Returns the datasets among the first 1000 names of a group; opens none and follows no links.
  std::vector<std::string> datasets_in(const std::string& group) const;

 private:
  bool has_link(const std::string& name) const;
  [[noreturn]] void fail_opening(const std::string& name) const;
  [[noreturn]] void fail_missing(const std::string& name) const;
  std::string location(const std::string& name) const;

  hid_t file_;
  std::filesystem::path path_;
  mutable std::string external_;  // target of the external link that was refused last
  h5::Handle access_;             // properties that refuse external links
};

}  // namespace spire::inline data
