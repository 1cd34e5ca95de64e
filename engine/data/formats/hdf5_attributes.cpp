// The attributes of a table's datasets: lists of numbers and words, as h5py and others write them.
#include <spire/error.h>

#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

constexpr hssize_t max_entries = 1 << 20;
constexpr size_t max_word_bytes = 1 << 16;

size_t entries_of(hid_t attribute, const std::string& place) {
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + place);
  hssize_t entries = H5Sget_simple_extent_npoints(space);
  if (entries < 0 || entries > max_entries)
    fail(Category::data, "{}: has {} entries; the file is damaged", place, entries);
  return static_cast<size_t>(entries);
}

std::vector<std::string> fixed_words(hid_t attribute, hid_t type, size_t count,
                                     const std::string& place) {
  size_t length = H5Tget_size(type);
  if (length == 0 || length > max_word_bytes)
    fail(Category::data, "{}: words of {} bytes; the file is damaged", place, length);
  std::string all(count * length, '\0');
  check(H5Aread(attribute, type, all.data()), "read " + place);
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    std::string word = all.substr(i * length, length);
    word.resize(std::min(word.find('\0'), length));
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> variable_words(hid_t attribute, hid_t type, size_t count,
                                        const std::string& place) {
  std::vector<char*> pointers(count, nullptr);
  Handle space(H5Aget_space(attribute), H5Sclose, "read the shape of " + place);
  check(H5Aread(attribute, type, pointers.data()), "read " + place);
  std::vector<std::string> words;
  for (const char* word : pointers) words.emplace_back(word == nullptr ? "" : word);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return words;
}

}  // namespace

std::optional<Handle> Hdf5Table::open_attribute(size_t column, const char* name) const {
  if (check(H5Aexists(datasets_[column], name), "look for attributes") == 0) return {};
  return Handle(H5Aopen(datasets_[column], name, H5P_DEFAULT), H5Aclose,
                fmt::format("read attribute {} of {}", name, names_[column]));
}

std::vector<double> Hdf5Table::numbers(size_t column, const char* name) const {
  return in_hdf5_file(path_, [&]() -> std::vector<double> {
    std::optional<Handle> attribute = open_attribute(column, name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", place(column), name);
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

std::optional<int64_t> Hdf5Table::number(size_t column, const char* name) const {
  std::vector<double> values = numbers(column, name);
  if (values.empty()) return {};
  if (values.size() != 1 || !(values[0] >= 0 && values[0] <= 0x1p31))
    fail(Category::data, "{}, attribute {}: expected one number from 0 to 2^31", place(column),
         name);
  return static_cast<int64_t>(values[0]);
}

std::vector<std::string> Hdf5Table::words(size_t column, const char* name) const {
  return in_hdf5_file(path_, [&]() -> std::vector<std::string> {
    std::optional<Handle> attribute = open_attribute(column, name);
    if (!attribute) return {};
    std::string what = fmt::format("{}, attribute {}", place(column), name);
    Handle type(H5Aget_type(*attribute), H5Tclose, "read the type of " + what);
    if (H5Tget_class(type) != H5T_STRING) fail(Category::data, "{}: contains no words", what);
    size_t count = entries_of(*attribute, what);
    if (count == 0) return {};
    bool variable = check(H5Tis_variable_str(type), "read the type of " + what) > 0;
    return variable ? variable_words(*attribute, type, count, what)
                    : fixed_words(*attribute, type, count, what);
  });
}

}  // namespace spire::inline data
