#include "engine/base/hdf5.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/text.h"

namespace spire::h5 {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// H5Ewalk2's callback: keeps the description of the innermost failure, the last one downwards.
herr_t keep_reason(unsigned, const H5E_error2_t* error, void* reason) {
  if (error->desc) *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

// Returns the system's error number, 0 if there is none. HDF5 gives it only inside a text:
// "..., errno = 24, ...".
int system_error_in(const std::string& reason) {
  constexpr std::string_view before = "errno = ";
  size_t at = reason.find(before);
  return at == std::string::npos ? 0 : std::atoi(reason.c_str() + at + before.size());
}

// Makes a type of fixed length. HDF5 has no strings of length 0: "" is stored as one null.
Handle string_type(size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a string type");
  check(H5Tset_size(type, length == 0 ? 1 : length), "size a string type");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "pad a string type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set a string's encoding");
  return type;
}

// Returns a buffer of the stored size; throws for strings of variable length.
std::string buffer_for(hid_t type, const std::string& name) {
  bool fixed = check(H5Tget_class(type), "read a type of " + name) == H5T_STRING &&
               check(H5Tis_variable_str(type), "read a type of " + name) == 0;
  if (!fixed) fail(Category::checkpoint, "'{}' is not a string of fixed length", name);
  return std::string(H5Tget_size(type), '\0');
}

// A stored string ends at its last character: nulls pad it, and may not be part of it.
void drop_padding(std::string& value) {
  value.resize(value.find_last_not_of('\0') + 1);
}

Handle scalar() {
  return Handle(H5Screate(H5S_SCALAR), H5Sclose, "make a scalar");
}

void require_scalar(hid_t space, const std::string& name) {
  if (H5Sget_simple_extent_npoints(space) != 1)
    fail(Category::checkpoint, "'{}' is not a single value", name);
}

void put(hid_t object, const std::string& name, hid_t type, hid_t memory, const void* value) {
  std::string what = "write attribute " + name;
  Handle space = scalar();
  Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose, what);
  check(H5Awrite(attribute, memory, value), what);
}

Handle open_attribute(hid_t object, const std::string& name) {
  Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, "read attribute " + name);
  Handle space(H5Aget_space(attribute), H5Sclose, "read attribute " + name);
  require_scalar(space, name);
  return attribute;
}

void get(hid_t object, const std::string& name, hid_t memory, void* value) {
  Handle attribute = open_attribute(object, name);
  check(H5Aread(attribute, memory, value), "read attribute " + name);
}

}  // namespace

// Keeps the library's error handler, which prints to stderr, and sets none until the session ends.
Session::Session() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() {
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::string take_reason() {
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason;
}

// libhdf5 has no error number for unknown versions, only texts: "bad version number for layout
// message", "wrong version number in dataspace message", "bad superblock version number", ...
void fail_for(const std::string& what, const std::string& reason) {
  // A system error does not mean damage, except for a missing file, which is a plain failure.
  int error = system_error_in(reason);
  if (error != 0 && error != ENOENT && error != ENOTDIR)
    throw UnreadableFile(category_of(error, Category::checkpoint),
                         fmt::format("HDF5 cannot {}: {}", printable(what), system_reason(error)));
  std::string text = fmt::format("HDF5 cannot {}: {}", printable(what), printable(reason));
  if (reason.find("version") != std::string::npos) throw UnknownVersion(Category::checkpoint, text);
  throw Error(Category::checkpoint, text);
}

void fail_hdf5(const std::string& what) {
  fail_for(what, take_reason());
}

// After a failed read the clean-up loops, and complains on stderr.
void leave_open_at_exit() {
  H5dont_atexit();
  H5open();  // while there is memory: it crashes where it gets none
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

void disable_locking(hid_t access) {
  check(H5Pset_file_locking(access, false, true), "choose no locking");
}

Handle open_without_lock(const std::filesystem::path& path) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  check(H5Pset_fapl_sec2(access), "choose plain files");
  disable_locking(access);
  return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "open it");
}

void write_attribute(hid_t object, const std::string& name, int64_t value) {
  put(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void write_attribute(hid_t object, const std::string& name, uint64_t value) {
  put(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void write_attribute(hid_t object, const std::string& name, double value) {
  put(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void write_attribute(hid_t object, const std::string& name, const std::string& value) {
  Handle type = string_type(value.size());
  put(object, name, type, type, value.c_str());
}

void read_attribute(hid_t object, const std::string& name, int64_t& value) {
  get(object, name, H5T_NATIVE_INT64, &value);
}

void read_attribute(hid_t object, const std::string& name, uint64_t& value) {
  get(object, name, H5T_NATIVE_UINT64, &value);
}

void read_attribute(hid_t object, const std::string& name, double& value) {
  get(object, name, H5T_NATIVE_DOUBLE, &value);
}

void read_attribute(hid_t object, const std::string& name, std::string& value) {
  Handle attribute = open_attribute(object, name);
  Handle type(H5Aget_type(attribute), H5Tclose, "read a type of " + name);
  value = buffer_for(type, name);
  check(H5Aread(attribute, type, value.data()), "read attribute " + name);
  drop_padding(value);
}

void write_text(hid_t group, const std::string& name, const std::string& value) {
  std::string what = "write " + name;
  Handle type = string_type(value.size());
  Handle space = scalar();
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
  check(H5Pset_obj_track_times(creation, false), what);  // the same state gives the same bytes
  Handle dataset(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                 H5Dclose, what);
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()), what);
}

void read_text(hid_t group, const std::string& name, std::string& value) {
  std::string what = "read " + name;
  Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, what);
  Handle space(H5Dget_space(dataset), H5Sclose, what);
  require_scalar(space, name);
  Handle type(H5Dget_type(dataset), H5Tclose, what);
  value = buffer_for(type, name);
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()), what);
  drop_padding(value);
}

}  // namespace spire::h5

namespace spire {

void leave_hdf5_open_at_exit() {
  h5::leave_open_at_exit();
}

}  // namespace spire
