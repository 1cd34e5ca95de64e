#include "engine/data/formats/hdf5_table.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

// Returns `name`; for auto the first known name that the group has, or known[0] where it has none.
std::string chosen(const Hdf5LinkResolver& within, const std::string& name,
                   const std::string& group, std::initializer_list<const char*> known) {
  if (name != "auto") return name;
  for (const char* each : known)
    if (within.has(group + "/" + each)) return group + "/" + each;
  return group + "/" + *known.begin();
}

constexpr std::initializer_list<const char*> input_names = {"images", "features", "tokens"};

std::string group_path_of(const std::string& name) {
  size_t end = name.rfind('/');
  return end == name.npos || end == 0 ? "/" : name.substr(0, end);
}

}  // namespace

PartNames hdf5_parts(const fs::path& file, const ValConfig& val) {
  h5::Handle handle = open_hdf5_file(file);
  Hdf5LinkResolver links(handle, file);
  std::vector<std::string> groups;
  for (Part part : {Part::train, Part::val, Part::test})
    for (const std::string& word : words_for(part))
      if (std::ranges::any_of(input_names,
                              [&](const char* name) { return links.has(word + "/" + name); }))
        groups.push_back(word);
  PartNames parts = choose_parts(file.string(), groups, val);
  if (parts.train.empty()) parts.train = "train";
  if (parts.test.empty()) parts.test = "test";
  return parts;
}

Hdf5Table::Hdf5Table(const fs::path& file, const ArrayNames& names, const std::string& group)
    : path_(file),
      file_(open_hdf5_file(file)),
      stamp_(stamp_of_hdf5(file_, file)),
      links_(std::make_unique<Hdf5LinkResolver>(file_, file)) {
  std::string input = chosen(*links_, names.input, group, input_names);
  std::string target = chosen(*links_, names.target, group,
                              {"labels", "values", "targets", "target_images", "masks"});
  translate_hdf5_errors(path_, [&] {
    arrays_.emplace_back(*links_, path_, input, Hdf5Array::Cache::none);  // Hdf5Rows has one
    arrays_.emplace_back(*links_, path_, target, Hdf5Array::Cache::chunks);
    count_ = arrays_[0].rows();
    if (arrays_[1].rows() != count_)
      fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set", location(1),
           arrays_[1].rows(), input, count_);
    RowColumns found = row_columns(arrays_[0].stored(), arrays_[1].stored());
    columns_ = {found.input, found.target};
    unit_ = found.unit;
  });
}

std::set<std::string> Hdf5Table::datasets_beside() const {
  std::set<std::string> found;
  for (const Hdf5Array& array : arrays_)
    for (std::string& other : links_->datasets_in(group_path_of(array.name())))
      found.insert(std::move(other));
  return found;
}

std::set<std::string> Hdf5Table::used_datasets() const {
  std::set<std::string> found;
  for (const Hdf5Array& array : arrays_)
    found.insert(array.name().substr(array.name().starts_with('/') ? 1 : 0));
  return found;
}

void Hdf5Table::read_chunk_index() const {
  translate_hdf5_errors(path_, [&] {
    for (const Hdf5Array& array : arrays_) array.read_chunk_index();
  });
}

void Hdf5Table::read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const {
  // libhdf5 reads zeros or nonsense from a file that was truncated or written: that error is
  // reported before any other.
  auto check_stamp = [&] { require_unchanged(path_, stamp_, stamp_of_hdf5(file_, path_)); };
  try {
    for (size_t column : {0, 1})
      if (columns[column] != nullptr)
        arrays_[column].read(first, rows, columns_[column].dtype, columns[column]);
  } catch (const Error&) {
    check_stamp();
    throw;
  }
  check_stamp();
}

}  // namespace spire::inline data
