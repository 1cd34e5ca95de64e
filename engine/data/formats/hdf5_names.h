// Names of what an HDF5 file itself holds: links into other files are not followed.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/hdf5.h"

namespace spire::inline data {

// Of libhdf5, for a dataset that is open; none by default: each chunk is decoded when it is read.
struct ChunkCache {
  size_t slots = 0, bytes = 0;
};

// The caller holds a h5::Session, as for every use of libhdf5. Errors are Error(data) and begin
// with the file's path.
class Hdf5Names {
 public:
  // `file` stays open as long as this lives; `path` is for messages.
  Hdf5Names(hid_t file, std::filesystem::path path);
  Hdf5Names(const Hdf5Names&) = delete;
  Hdf5Names& operator=(const Hdf5Names&) = delete;

  // Whether a name is there, a link to nowhere included. Throws for a group on the way that is a
  // link to nowhere or into another file, or cannot be read.
  bool has(const std::string& name) const;
  // Throws for a name that is missing, saying which datasets there are, or is no dataset; for a
  // link to nowhere or into another file; and for a dataset that this libhdf5 cannot read, with its
  // reason.
  h5::Handle open_dataset(const std::string& name, const ChunkCache& cache = {}) const;
  // The datasets of a group by their paths without the first slash, of the first 1000 names. None
  // of them is opened, and links count as none. Throws for a group that cannot be read.
  std::vector<std::string> datasets_in(const std::string& group) const;

 private:
  bool has_link(const std::string& name) const;
  [[noreturn]] void fail_opening(const std::string& name) const;
  [[noreturn]] void fail_missing(const std::string& name) const;
  std::string place(const std::string& name) const;

  hid_t file_;
  std::filesystem::path path_;
  mutable std::string elsewhere_;  // the file that a link led to
  h5::Handle access_;              // to links and datasets, with which libhdf5 stays in the file
};

}  // namespace spire::inline data
