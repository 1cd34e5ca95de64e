// Opens HDF5 data files; their errors are Error(data). The caller must hold an h5::Session. Before
// that, a process of its own validates them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/base/hdf5.h"
#include "engine/base/read_file.h"
#include "engine/data/input_file.h"

namespace spire {

// Throws Error(data) unless `path` exists and is a regular file.
void require_hdf5_file(const std::filesystem::path& path);

// Calls require_hdf5_file() and opens the file for reading, without locking it.
h5::Handle open_hdf5_file(const std::filesystem::path& path);

FileStamp stamp_of_hdf5(hid_t file, const std::filesystem::path& path);

// Returns body(); rethrows errors of libhdf5 as Error(data) with path and advice.
template <typename Body>
auto translate_hdf5_errors(const std::filesystem::path& path, const Body& body) {
  try {
    return body();
  } catch (const h5::UnknownVersion& error) {
    fail(Category::data,
         "{}: {}; the file is of a newer HDF5 library than the {} that this program has: write it "
         "again in the older form, in h5py with libver=('earliest', 'v110')",
         path.string(), error.what(), h5::library_version());
  } catch (const UnreadableFile& error) {  // also thrown for files that cannot be written
    Category category =
        error.category() == Category::checkpoint ? Category::data : error.category();
    fail(category, "{}: {}; check the disk", path.string(), error.what());
  } catch (const Error& error) {
    if (error.category() != Category::checkpoint) throw;
    fail(Category::data, "{}: {}; get an intact copy", path.string(), error.what());
  }
}

// Size of libhdf5's cache of decoded chunks for an open dataset; 0: every read decodes its chunks.
struct ChunkCache {
  size_t slots = 0, bytes = 0;
};

// Opens datasets by name and refuses links to other files. Throws Error(data) with the path.
class Hdf5LinkResolver {
 public:
  Hdf5LinkResolver(hid_t file, std::filesystem::path path);  // `file` must outlive this
  Hdf5LinkResolver(const Hdf5LinkResolver&) = delete;
  Hdf5LinkResolver& operator=(const Hdf5LinkResolver&) = delete;

  // Returns whether a name exists; a dangling link counts. Throws if a group on its path is a
  // dangling or external link.
  bool has(const std::string& name) const;
  // Throws, with the reason, if the name is missing, a dangling or external link, or not a dataset.
  h5::Handle open_dataset(const std::string& name, const ChunkCache& cache = {}) const;
  // Returns the names at the top of the file; opens nothing.
  std::vector<std::string> names_at_top() const;
  // Returns the datasets among the first 1000 names of a group; opens none, follows no links.
  std::vector<std::string> datasets_in(const std::string& group) const;

 private:
  bool has_link(const std::string& name) const;
  [[noreturn]] void fail_opening(const std::string& name) const;
  [[noreturn]] void fail_missing(const std::string& name) const;
  std::string location(const std::string& name) const;

  hid_t file_;
  std::filesystem::path path_;
  mutable std::string external_;  // target of the last external link that was refused
  h5::Handle access_;             // properties that refuse external links
};

// Validates HDF5 data files in a separate process, since libhdf5 may crash or hang on damaged ones.

struct Hdf5CheckResult {
  FileStamp stamp;                 // of the file that was checked
  std::vector<std::string> notes;  // for the user; says so if the file was not checked
};

// Reads the file in the program spire-hdf5-check; without it the file stays unchecked. Throws
// Error(data) if the program crashes or exceeds its limits, Error(device) if it cannot run or is
// killed, else what it reports. The caller compares the stamp with that of the file it opens later.
Hdf5CheckResult check_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);
// The same for samples to predict for, whose target may be missing.
Hdf5CheckResult check_hdf5_samples(const std::filesystem::path& path, const ArrayNames& names);

// Main of spire-hdf5-check for data files. Arguments: FILE, names of input and target of train,
// then of test; or FILE and the names for samples to predict for.
[[noreturn]] void hdf5_check_main(int argc, char** argv);

}  // namespace spire
