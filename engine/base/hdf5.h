// Thin RAII layer over the C library HDF5. Every call is checked: a failure throws
// Error(checkpoint) with HDF5's reason, or Error(device) if the limit on open files is reached.
#pragma once
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include <spire/error.h>

namespace spire::h5 {

// Lock to hold during every use of libhdf5, since the library may be built without thread safety.
// While it is held, the library prints no errors.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;  // how the library printed errors before
  void* print_data_ = nullptr;
};

// Returns the result of an HDF5 call (an id, flag or status), or throws if it is negative. what:
// the action that the message names, such as "write attribute lr".
template <typename Status>
Status check(Status status, const std::string& what);
[[noreturn]] void fail_hdf5(const std::string& what);

// Returns why libhdf5's last call failed, and clears the reason. The next call clears it, too.
std::string take_reason();
// Throws UnreadableFile (engine/base/read_file.h) if `reason` names an errno, except that of a
// missing file, UnknownVersion if it mentions a version, else Error(checkpoint).
[[noreturn]] void fail_for(const std::string& what, const std::string& reason);

// Thrown if a newer library wrote the file, so that this libhdf5 does not know a part's version.
class UnknownVersion : public Error {
 public:
  using Error::Error;
};
std::string library_version();  // "1.10.8"

// Keeps libhdf5 from cleaning up at exit, for programs that close all files that they write. Call
// it before any other use of the library.
void leave_open_at_exit();

template <typename Status>
Status check(Status status, const std::string& what) {
  if (status < 0) fail_hdf5(what);
  return status;
}

// Owner of one HDF5 id, which it closes with `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what)
      : id_(check(id, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  // Closes a file that was written and checks the result: closing writes the last bytes.
  void close_checked(const std::string& what) { check(close_(std::exchange(id_, -1)), what); }

  operator hid_t() const { return id_; }  // NOLINT: every HDF5 call takes an hid_t

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Opens a file for reading with the driver for plain files (sec2) and without a file lock, which
// some network disks lack. The environment variable HDF5_USE_FILE_LOCKING, if set, decides instead.
Handle open_without_lock(const std::filesystem::path& path);
void disable_locking(hid_t access);  // access: a list of file access properties

// Attributes of a file's root, a group or a dataset. Strings have a fixed length and are UTF-8.
void write_attribute(hid_t object, const std::string& name, int64_t value);
void write_attribute(hid_t object, const std::string& name, uint64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, const std::string& value);

void read_attribute(hid_t object, const std::string& name, int64_t& value);
void read_attribute(hid_t object, const std::string& name, uint64_t& value);
void read_attribute(hid_t object, const std::string& name, double& value);
void read_attribute(hid_t object, const std::string& name, std::string& value);

// A dataset that is a single string, for texts longer than an attribute may be (64 KiB).
void write_text(hid_t group, const std::string& name, const std::string& value);
void read_text(hid_t group, const std::string& name, std::string& value);

// An HDF5 file in memory that holds only the pages that libhdf5 writes. For laying out a large
// file, whose values the caller writes to disk directly, at the offsets that H5Dget_offset()
// returns.
class SparseFile {
 public:
  uint64_t bytes() const { return bytes_; }                     // size, valid once it is closed
  void read(uint64_t offset, size_t count, void* out) const;    // zeros where nothing was written
  void write(uint64_t offset, size_t count, const void* from);  // may throw std::bad_alloc
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }

  // Creates the HDF5 file. Call it within a Session; the handle must not outlive this object.
  // creation: a list of file creation properties.
  Handle create(hid_t creation);

 private:
  static constexpr uint64_t page_bytes = 4096;

  std::map<uint64_t, std::string> pages_;  // page number -> bytes
  uint64_t bytes_ = 0;
};

}  // namespace spire::h5
