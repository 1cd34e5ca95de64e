// A thin RAII layer over the C library HDF5. Every call is checked: a failure is Error(checkpoint)
// with HDF5's own reason, or Error(device) if the limit on open files is reached.
#pragma once
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include <spire/error.h>

namespace spire::h5 {

// A lock around every use of libhdf5, which may be built without thread safety. The library prints
// no errors meanwhile.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;  // the setting to restore
  void* print_data_ = nullptr;
};

// Returns an id, flag or status of HDF5, or throws for a negative one. what: "write attribute lr".
template <typename Status>
Status check(Status status, const std::string& what);
[[noreturn]] void fail_hdf5(const std::string& what);

// Takes the reason for the failure of libhdf5's last call; the library's next call clears it, too.
std::string take_reason();
// Throws UnknownVersion if `reason` mentions a version, UnreadableFile if the system did not give
// the file's content, else Error(checkpoint).
[[noreturn]] void fail_for(const std::string& what, const std::string& reason);

// A newer library wrote the file: a part of it has a version that this libhdf5 does not know.
class UnknownVersion : public Error {
 public:
  using Error::Error;
};
std::string library_version();  // "1.10.8"

// Keeps libhdf5 from cleaning up at exit. Call it before any other use of the library, in programs
// that leave nothing unwritten.
void leave_open_at_exit();

template <typename Status>
Status check(Status status, const std::string& what) {
  if (status < 0) fail_hdf5(what);
  return status;
}

// Owns one HDF5 id and closes it by `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what)
      : id_(check(id, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  // Closes a written file and checks that: closing writes the last of it.
  void close_checked(const std::string& what) { check(close_(std::exchange(id_, -1)), what); }

  operator hid_t() const { return id_; }  // NOLINT: every HDF5 call takes an hid_t

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Opens a file for reading by the driver for plain files (sec2), without a lock: network disks may
// have none. The variable HDF5_USE_FILE_LOCKING wins where it is set.
Handle open_without_lock(const std::filesystem::path& path);
void disable_locking(hid_t access);  // the same for other files with these access properties

// Attributes of a file's root, a group or a dataset. Strings have a fixed length and are UTF-8.
void write_attribute(hid_t object, const std::string& name, int64_t value);
void write_attribute(hid_t object, const std::string& name, uint64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, const std::string& value);

void read_attribute(hid_t object, const std::string& name, int64_t& value);
void read_attribute(hid_t object, const std::string& name, uint64_t& value);
void read_attribute(hid_t object, const std::string& name, double& value);
void read_attribute(hid_t object, const std::string& name, std::string& value);

// A dataset with a single string, for texts longer than an attribute may be (64 KiB).
void write_text(hid_t group, const std::string& name, const std::string& value);
void read_text(hid_t group, const std::string& name, std::string& value);

// A new HDF5 file in memory. Only pages that libhdf5 writes take memory, so a large file can be
// laid out here, and its values be written to disk separately, at the offsets of H5Dget_offset.
class SparseFile {
 public:
  uint64_t bytes() const { return bytes_; }                     // of the closed file
  void read(uint64_t offset, size_t count, void* out) const;    // gaps read as zeros
  void write(uint64_t offset, size_t count, const void* from);  // may throw std::bad_alloc
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }

  // Creates the HDF5 file, which must not outlive this object, inside a Session. creation: a list
  // of file creation properties.
  Handle create(hid_t creation);

 private:
  static constexpr uint64_t page_bytes = 4096;

  std::map<uint64_t, std::string> pages_;  // by number
  uint64_t bytes_ = 0;
};

}  // namespace spire::h5
