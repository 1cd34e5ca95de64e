// The virtual file driver of SparseFile: libhdf5 writes through it into pages of memory, as its
// built-in driver "core" does into one buffer.
#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/hdf5.h"

namespace spire::h5 {
namespace {

constexpr haddr_t last_address = (haddr_t{1} << 62) - 1;

// An open file as libhdf5 sees it: it reads and writes `common`, which must come first.
struct OpenFile {
  H5FD_t common;
  SparseFile* file;
  haddr_t end_of_allocations, end_of_file;
};

OpenFile& open_file(H5FD_t* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
const OpenFile& open_file(const H5FD_t* file) {
  return *reinterpret_cast<const OpenFile*>(file);
}

// Opens a file; the access property list carries the address of the SparseFile.
H5FD_t* open_sparse(const char*, unsigned, hid_t access, haddr_t) {
  const auto* file = static_cast<SparseFile* const*>(H5Pget_driver_info(access));
  return file ? &(new (std::nothrow) OpenFile{{}, *file, 0, 0})->common : nullptr;
}

herr_t close_sparse(H5FD_t* file) {
  delete &open_file(file);
  return 0;
}

// The flags of "core", so that the layout of the file is the same.
herr_t query_sparse(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) {
  return open_file(file).end_of_allocations;
}

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  open_file(file).end_of_allocations = end;
  return 0;
}

haddr_t file_end(const H5FD_t* file, H5FD_mem_t) {
  return open_file(file).end_of_file;
}

// The addresses of libhdf5 are offsets in the file. It is C: no exception may pass through it.
herr_t read_sparse(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, void* out) {
  open_file(file).file->read(at, bytes, out);
  return 0;
}

herr_t write_sparse(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, const void* from) {
  OpenFile& open = open_file(file);
  try {
    open.file->write(at, bytes, from);
  } catch (const std::bad_alloc&) {
    return -1;
  }
  open.end_of_file = std::max(open.end_of_file, at + bytes);
  return 0;
}

herr_t truncate_sparse(H5FD_t* file, hid_t, hbool_t) {
  OpenFile& open = open_file(file);
  open.end_of_file = open.end_of_allocations;
  open.file->set_bytes(open.end_of_file);
  return 0;
}

// Sets the two members that the table has since 1.13: its version and the driver's number. 256 to
// 511 are free for private use.
template <typename Driver>
void number(Driver& driver) {
  if constexpr (requires { driver.version; }) driver.version = 1;
  if constexpr (requires { driver.value; }) driver.value = 480;
}

H5FD_class_t sparse_driver() {
  H5FD_class_t driver = {};
  number(driver);
  driver.name = "spire sparse";
  driver.maxaddr = last_address;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(SparseFile*);
  driver.open = open_sparse;
  driver.close = close_sparse;
  driver.query = query_sparse;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = file_end;
  driver.read = read_sparse;
  driver.write = write_sparse;
  driver.truncate = truncate_sparse;
  // Two lists of free space as in "core": one for metadata, one for values.
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_SUPER);
  for (H5FD_mem_t values : {H5FD_MEM_DRAW, H5FD_MEM_GHEAP}) driver.fl_map[values] = H5FD_MEM_DRAW;
  return driver;
}

// Registers the driver once and for all. libhdf5 frees an unregistered driver when it closes the
// driver's last file, and only then calls its `close`.
hid_t registered_driver() {
  static hid_t driver = H5I_INVALID_HID;
  if (H5Iget_type(driver) != H5I_VFL) {  // also after H5close()
    H5FD_class_t table = sparse_driver();
    driver = check(H5FDregister(&table), "add a place to write to");
  }
  return driver;
}

}  // namespace

// Page by page; a page that was never written reads as zeros.
void SparseFile::read(uint64_t offset, size_t count, void* out) const {
  auto* to = static_cast<char*>(out);
  while (count > 0) {
    uint64_t inside = offset % page_bytes;
    size_t part = std::min<size_t>(count, page_bytes - inside);
    auto page = pages_.find(offset / page_bytes);
    page == pages_.end() ? std::memset(to, 0, part)
                         : std::memcpy(to, page->second.data() + inside, part);
    to += part, offset += part, count -= part;
  }
}

void SparseFile::write(uint64_t offset, size_t count, const void* from) {
  const auto* bytes = static_cast<const char*>(from);
  while (count > 0) {
    uint64_t inside = offset % page_bytes;
    size_t part = std::min<size_t>(count, page_bytes - inside);
    std::string& page = pages_.try_emplace(offset / page_bytes, page_bytes, '\0').first->second;
    std::memcpy(page.data() + inside, bytes, part);
    bytes += part, offset += part, count -= part;
  }
}

// The file has no name on disk: "checkpoint" only shows in errors of libhdf5.
Handle SparseFile::create(hid_t creation) {
  hid_t driver = registered_driver();
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  SparseFile* self = this;
  check(H5Pset_driver(access, driver, &self), "choose memory");
  return Handle(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation, access), H5Fclose,
                "create a file in memory");
}

}  // namespace spire::h5
