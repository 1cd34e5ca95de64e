// Metadata of arrays and tables: attributes as h5py and others write them, row checksums.
#include <algorithm>

#include <spire/error.h>

#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

// Bounds of attributes: a damaged header may ask for any size.
constexpr hssize_t max_entries = 1 << 20;
constexpr size_t max_word_bytes = 1 << 16;

size_t entries_of(hid_t attribute, const std::string& location) {
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + location);
  hssize_t entries = H5Sget_simple_extent_npoints(space);
  if (entries < 0 || entries > max_entries)
    fail(Category::data, "{}: has {} entries; the file is damaged", location, entries);
  return static_cast<size_t>(entries);
}

// Reads strings of one length, padded with nulls.
std::vector<std::string> fixed_words(hid_t attribute, hid_t type, size_t count,
                                     const std::string& location) {
  size_t length = H5Tget_size(type);
  if (length == 0 || length > max_word_bytes)
    fail(Category::data, "{}: words of {} bytes; the file is damaged", location, length);
  std::string all(count * length, '\0');
  check(H5Aread(attribute, type, all.data()), "read " + location);
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    std::string word = all.substr(i * length, length);
    word.resize(std::min(word.find('\0'), length));
    words.push_back(word);
  }
  return words;
}

// Reads strings of variable length, which libhdf5 allocates and H5Dvlen_reclaim frees.
std::vector<std::string> variable_words(hid_t attribute, hid_t type, size_t count,
                                        const std::string& location) {
  std::vector<char*> pointers(count, nullptr);
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + location);
  check(H5Aread(attribute, type, pointers.data()), "read " + location);
  std::vector<std::string> words;
  for (const char* word : pointers) words.emplace_back(word == nullptr ? "" : word);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return words;
}

struct BlockChecksums {
  int64_t rows = 0;  // of a block
  std::vector<uint64_t> blocks = {};
};

// Returns the checksums of one dataset; nullopt: the file has none.
std::optional<BlockChecksums> read_block_checksums(const Hdf5LinkResolver& links,
                                                   const std::string& name) {
  std::string path = hdf5_checksum_group + name;
  if (!links.has(path)) return {};
  Handle dataset = links.open_dataset(path);
  Handle space(H5Dget_space(dataset), H5Sclose, "read the shape of " + path);
  hssize_t count = H5Sget_simple_extent_npoints(space);
  // Bounds the allocation: a damaged header may claim any number of checksums.
  auto stored = static_cast<hssize_t>(H5Dget_storage_size(dataset) / sizeof(uint64_t));
  BlockChecksums result;
  h5::read_attribute(dataset, "rows", result.rows);
  if (result.rows < 1 || count < 0 || count > stored)
    fail(Category::data, "{}: is damaged; get an intact copy", path);
  result.blocks.resize(static_cast<size_t>(count));
  check(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.blocks.data()),
        "read " + path);
  return result;
}

}  // namespace

std::optional<Handle> Hdf5Array::open_attribute(const char* name) const {
  if (check(H5Aexists(dataset_, name), "look for attributes") == 0) return {};
  return Handle(H5Aopen(dataset_, name, H5P_DEFAULT), H5Aclose,
                fmt::format("read attribute {} of {}", name, name_));
}

std::vector<double> Hdf5Array::numbers(const char* name) const {
  return translate_hdf5_errors(path_, [&]() -> std::vector<double> {
    std::optional<Handle> attribute = open_attribute(name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", location_, name);
    Handle type(H5Aget_type(*attribute), H5Tclose, "read the type of " + what);
    H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER)
      fail(Category::data, "{}: contains no numbers", what);
    std::vector<double> values(entries_of(*attribute, what));
    if (!values.empty())
      check(H5Aread(*attribute, H5T_NATIVE_DOUBLE, values.data()), "read " + what);
    return values;
  });
}

std::optional<int64_t> Hdf5Array::number(const char* name) const {
  std::vector<double> values = numbers(name);
  if (values.empty()) return {};
  if (values.size() != 1 || !(values[0] >= 0 && values[0] <= 0x1p31))
    fail(Category::data, "{}, attribute {}: expected one number from 0 to 2^31", location_, name);
  return static_cast<int64_t>(values[0]);
}

std::vector<std::string> Hdf5Array::words(const char* name) const {
  return translate_hdf5_errors(path_, [&]() -> std::vector<std::string> {
    std::optional<Handle> attribute = open_attribute(name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", location_, name);
    Handle type(H5Aget_type(*attribute), H5Tclose, "read the type of " + what);
    if (H5Tget_class(type) != H5T_STRING) fail(Category::data, "{}: contains no words", what);
    size_t count = entries_of(*attribute, what);
    if (count == 0) return {};
    bool variable = check(H5Tis_variable_str(type), "read the type of " + what) > 0;
    return variable ? variable_words(*attribute, type, count, what)
                    : fixed_words(*attribute, type, count, what);
  });
}

std::optional<RowChecksums> Hdf5Table::checksums() const {
  h5::Session session;
  return translate_hdf5_errors(path_, [&]() -> std::optional<RowChecksums> {
    RowChecksums result;
    for (const Hdf5Array& array : arrays_) {
      const std::string& name = array.name();
      std::optional<BlockChecksums> found = read_block_checksums(*links_, name);
      if (!found) return {};
      if (result.rows != 0 && result.rows != found->rows)
        fail(Category::data, "{}: checksums of {} are of {} rows, those of {} of {}",
             path_.string(), arrays_[0].name(), result.rows, arrays_[1].name(), found->rows);
      result.rows = found->rows;
      result.blocks.push_back(std::move(found->blocks));
      // Rounds up without overflow: a damaged file may say any number of rows.
      auto expected = static_cast<size_t>((count_ - 1) / result.rows + 1);
      if (result.blocks.back().size() != expected)
        fail(Category::data, "{}: {} checksums of {}, expected {}; get an intact copy",
             path_.string(), result.blocks.back().size(), name, expected);
    }
    return result;
  });
}

}  // namespace spire::inline data
