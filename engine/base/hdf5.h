// A thin RAII layer over the C library HDF5, for the floors that read and write such files. Every
// call is checked; a failed one is Error(checkpoint) with HDF5's own reason, which the data floor
// turns into Error(data); where this process may open no further file it is Error(device).
#pragma once
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include <spire/error.h>

namespace spire::h5 {

// Held around every use of libhdf5, which may be built without thread safety. Also keeps the
// library from printing its errors to stderr while held.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;  // what was set before
  void* print_data_ = nullptr;
};

// Throws when `status` is negative, as HDF5's ids, flags and statuses are on failure; else returns
// it.
template <typename Status>
Status check(Status status, const std::string& what);
[[noreturn]] void fail_hdf5(const std::string& what);

// Why the last call of libhdf5 has failed, in its words. Any further call of it forgets that.
std::string take_reason();
// Error(checkpoint) of what libhdf5 could not do: an UnknownVersion where `reason` tells of one, an
// UnreadableFile where the system did not give what the file holds.
[[noreturn]] void fail_for(const std::string& what, const std::string& reason);

// A part of the file is of a version that this libhdf5 does not know: that of a newer library.
class UnknownVersion : public Error {
 public:
  using Error::Error;
};
std::string library_version();  // "1.10.8"

// For programs that leave nothing unwritten in libhdf5, before any other use of it: the library is
// not closed as the program ends. After a read that failed it does not find an end to that, and
// says so on stderr.
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

  // For a file that was written: the last of it, which marks it as closed, is written here, and may
  // fail, too.
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

// A dataset that holds one string: for texts too long for an attribute (64 KiB).
void write_text(hid_t group, const std::string& name, const std::string& value);
void read_text(hid_t group, const std::string& name, std::string& value);

}  // namespace spire::h5
