// A thin RAII layer over the C library HDF5. Every call is checked: a failure is Error(checkpoint)
// with HDF5's own reason, which the data floor turns into Error(data), or Error(device) if the
// limit on open files is reached.
#pragma once
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include <spire/error.h>

namespace spire::h5 {

// A lock around every use of libhdf5, which may be built without thread safety. Also silences the
// library's own printing of errors to stderr.
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

// Returns `status`, or throws if it is negative, as HDF5's ids, flags and statuses are on failure.
// what: "write attribute lr".
template <typename Status>
Status check(Status status, const std::string& what);
[[noreturn]] void fail_hdf5(const std::string& what);

// Returns libhdf5's reason for the failure of its last call, and clears it. The next call of the
// library clears it, too.
std::string take_reason();
// Throws Error(checkpoint): UnknownVersion if `reason` mentions a version, UnreadableFile if the
// system did not give the file's content.
[[noreturn]] void fail_for(const std::string& what, const std::string& reason);

// A part of the file has a version that this libhdf5 does not know: a newer library wrote it.
class UnknownVersion : public Error {
 public:
  using Error::Error;
};
std::string library_version();  // "1.10.8"

// Keeps libhdf5 from cleaning up at exit; call before any other use of it. For programs that leave
// nothing unwritten: after a failed read that clean-up loops, and complains on stderr.
void leave_open_at_exit();

template <typename Status>
Status check(Status status, const std::string& what) {
  if (status < 0) fail_hdf5(what);
  return status;
}

// Owns one HDF5 id and closes it with the function of its kind.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what)
      : id_(check(id, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  // Closes a written file with a check: closing writes the last of it, which may fail.
  void close_checked(const std::string& what) { check(close_(std::exchange(id_, -1)), what); }

  operator hid_t() const { return id_; }  // NOLINT: every HDF5 call takes an hid_t

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Opens a file for reading without a lock: network disks may have none. The variable
// HDF5_USE_FILE_LOCKING, where it is set, wins. The driver is that for plain files (sec2), whose
// descriptor H5Fget_vfd_handle gives.
Handle open_without_lock(const std::filesystem::path& path);
// Switches locking off for files opened or made with these access properties.
void disable_locking(hid_t access);

// Attributes and strings, the same on a file's root, a group or a dataset. Strings are of fixed
// length, UTF-8.
void write_attribute(hid_t object, const std::string& name, int64_t value);
void write_attribute(hid_t object, const std::string& name, uint64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, const std::string& value);

void read_attribute(hid_t object, const std::string& name, int64_t& value);
void read_attribute(hid_t object, const std::string& name, uint64_t& value);
void read_attribute(hid_t object, const std::string& name, double& value);
void read_attribute(hid_t object, const std::string& name, std::string& value);

// A dataset with a single string, for texts too long for an attribute (64 KiB).
void write_text(hid_t group, const std::string& name, const std::string& value);
void read_text(hid_t group, const std::string& name, std::string& value);

// A new HDF5 file in memory, paged: only pages that libhdf5 writes take memory. A dataset with
// allocated file space and no values yet takes none, so a large file can be laid out first and its
// values be written to disk separately, at the offsets of H5Dget_offset.
class SparseFile {
 public:
  // Returns the size of the closed file, user block included.
  uint64_t bytes() const { return bytes_; }
  // Gaps read as zeros. write() may throw std::bad_alloc.
  void read(uint64_t offset, size_t count, void* out) const;
  void write(uint64_t offset, size_t count, const void* from);
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }

  // Creates the HDF5 file in this object, which must outlive it. creation: a file creation property
  // list. Call inside a Session.
  Handle create(hid_t creation);

 private:
  static constexpr uint64_t page_bytes = 4096;

  std::map<uint64_t, std::string> pages_;  // by number
  uint64_t bytes_ = 0;
};

}  // namespace spire::h5
