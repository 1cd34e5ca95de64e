#include "engine/data/formats/hdf5_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using h5::check;
using h5::Handle;

constexpr int64_t mib = 1 << 20;
constexpr int64_t max_fetched_bytes = 8 * mib, max_fetched_rows = 1024;

using KnownNames = std::initializer_list<const char*>;
constexpr KnownNames input_names = {"images", "features", "tokens"};
constexpr KnownNames target_names = {"labels", "values", "targets", "target_images", "masks"};

// Returns the first of `known` that the group has; empty: none. group: "" for the top of the file.
std::string first_in(const Hdf5LinkResolver& links, const std::string& group,
                     const KnownNames& known) {
  for (const char* each : known)
    if (std::string name = group.empty() ? each : group + "/" + each; links.has(name)) return name;
  return "";
}

// Returns `name`; for auto the first known name that the group has, or known[0] where it has none.
std::string chosen(const Hdf5LinkResolver& links, const std::string& name, const std::string& group,
                   const KnownNames& known) {
  if (name != "auto") return name;
  std::string found = first_in(links, group, known);
  return found.empty() ? group + "/" + *known.begin() : found;
}

// Returns the names at the top that mean this part, those in small letters first.
std::vector<std::string> names_of_part(const Hdf5LinkResolver& links, Part part) {
  std::vector<std::string> names = links.names_at_top();
  std::erase_if(names, [&](const std::string& name) { return part_named(name) != part; });
  std::ranges::stable_partition(names,
                                [](const std::string& name) { return name == lower_case(name); });
  return names;
}

// Returns "" for a dataset at the top of the file.
std::string group_of(const std::string& name) {
  size_t end = name.rfind('/');
  return end == name.npos ? "" : name.substr(0, end);
}

bool is_named(const Hdf5LinkResolver& links, const std::string& name) {
  return name != "auto" && links.has(name);
}

// Returns the names of samples to predict for.
ArrayNames sample_names(const Hdf5LinkResolver& links, const ArrayNames& names,
                        const fs::path& file) {
  ArrayNames found = {.input = is_named(links, names.input) ? names.input : "", .target = ""};
  auto look_in = [&](const std::vector<std::string>& groups) {
    for (const std::string& group : groups)
      if (found.input.empty()) found.input = first_in(links, group, input_names);
  };
  look_in(names_of_part(links, Part::test));
  look_in({""});
  look_in(names_of_part(links, Part::train));
  if (found.input.empty())
    fail(Category::data,
         "{}: has no dataset images, features or tokens, at its top or in test or train; name it "
         "by data.hdf5.test.input",
         file.string());
  found.target = is_named(links, names.target)
                     ? names.target
                     : first_in(links, group_of(found.input), target_names);
  return found;
}

std::string group_path_of(const std::string& name) {
  std::string group = group_of(name);
  return group.empty() ? "/" : group;
}

// Returns the rows read together: a chunk; of a dataset without chunks about a MiB where the order
// keeps blocks together, else one row.
int64_t block_rows_of(const RowTable& table, int64_t chunk_rows, int64_t window) {
  if (chunk_rows > 0) return chunk_rows;
  int64_t rows = window > 1 ? mib / static_cast<int64_t>(table.row_bytes()) : 1;
  return std::clamp<int64_t>(rows, 1, table.count());
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

bool is_hdf5(const fs::path& path) {
  return begins_with(path, "\x89HDF\r\n\x1a\n");
}

PartNames hdf5_parts(const fs::path& file, const ValConfig& val) {
  h5::Session session;
  h5::Handle handle = open_hdf5_file(file);
  Hdf5LinkResolver links(handle, file);
  std::vector<std::string> groups;  // with samples
  for (Part part : {Part::train, Part::val, Part::test})
    for (const std::string& name : names_of_part(links, part))
      if (!first_in(links, name, input_names).empty()) groups.push_back(name);
  PartNames parts = choose_parts(file.string(), groups, val);
  if (parts.train.empty()) parts.train = "train";
  if (parts.test.empty()) parts.test = "test";
  return parts;
}

Hdf5Table::Hdf5Table(const fs::path& file, const ArrayNames& names, const std::string& group)
    : Hdf5Table(file, Hdf5Array::Cache::none /* fetch() has one */,
                [&](const Hdf5LinkResolver& links) -> ArrayNames {
                  std::string target = names.target;  // beside an input that has a name of its own
                  if (target == "auto" && names.input != "auto")
                    target = first_in(links, group_of(names.input), target_names);
                  return {chosen(links, names.input, group, input_names),
                          chosen(links, target.empty() ? "auto" : target, group, target_names)};
                }) {}

Hdf5Table::Hdf5Table(const fs::path& file, const ArrayNames& names)
    : Hdf5Table(file, Hdf5Array::Cache::chunks,
                [&](const Hdf5LinkResolver& links) { return sample_names(links, names, file); }) {}

Hdf5Table::Hdf5Table(const fs::path& file, Hdf5Array::Cache input, const ChooseNames& choose)
    : path_(file) {
  h5::Session session;
  auto opened = std::make_unique<Opened>(path_);
  stamp_ = stamp_of_hdf5(opened->file, path_);
  ArrayNames names = choose(opened->links);
  translate_hdf5_errors(path_, [&] {
    opened->arrays.emplace_back(opened->links, path_, names.input, input);
    if (!names.target.empty())
      opened->arrays.emplace_back(opened->links, path_, names.target, Hdf5Array::Cache::chunks);
  });
  const auto& arrays = opened->arrays;
  count_ = arrays[0].rows();
  if (arrays.size() > 1 && arrays[1].rows() != count_)
    fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set",
         arrays[1].location(), arrays[1].rows(), names.input, count_);
  opened_ = std::move(opened);  // last: an error closes the file while the session lives
}

Hdf5Table::~Hdf5Table() {
  h5::Session session;
  opened_.reset();
}

std::set<std::string> Hdf5Table::datasets_beside() const {
  h5::Session session;
  std::set<std::string> found;
  for (const Hdf5Array& array : opened_->arrays)
    for (std::string& other : opened_->links.datasets_in(group_path_of(array.name())))
      found.insert(std::move(other));
  return found;
}

std::set<std::string> Hdf5Table::used_datasets() const {
  std::set<std::string> found;
  for (const Hdf5Array& array : opened_->arrays)
    found.insert(array.name().substr(array.name().starts_with('/') ? 1 : 0));
  return found;
}

void Hdf5Table::read_chunk_index() const {
  h5::Session session;
  translate_hdf5_errors(path_, [&] {
    for (const Hdf5Array& array : opened_->arrays) array.read_chunk_index();
  });
}

void Hdf5Table::read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const {
  h5::Session session;
  // libhdf5 reads zeros or nonsense from a file that was truncated or written: that error is
  // reported before any other.
  auto check_stamp = [&] { require_unchanged(path_, stamp_, stamp_of_hdf5(opened_->file, path_)); };
  try {
    for (size_t column = 0; column < opened_->arrays.size(); ++column)
      if (columns[column] != nullptr)
        opened_->arrays[column].read(first, rows, columns_[column].dtype, columns[column]);
  } catch (const Error&) {
    check_stamp();
    throw;
  }
  check_stamp();
}

std::vector<std::string> Hdf5Table::layout() const {
  h5::Session session;
  std::vector<std::string> lines;
  for (const Hdf5Array& array : opened_->arrays) lines.push_back(array.layout());
  return lines;
}

std::vector<double> Hdf5Table::numbers(size_t column, const char* attribute) const {
  h5::Session session;
  return opened_->arrays[column].numbers(attribute);
}

std::vector<std::string> Hdf5Table::words(size_t column, const char* attribute) const {
  h5::Session session;
  return opened_->arrays[column].words(attribute);
}

std::optional<RowChecksums> Hdf5Table::checksums() const {
  h5::Session session;
  return translate_hdf5_errors(path_, [&]() -> std::optional<RowChecksums> {
    RowChecksums result;
    for (const Hdf5Array& array : opened_->arrays) {
      const std::string& name = array.name();
      std::optional<BlockChecksums> found = read_block_checksums(opened_->links, name);
      if (!found) return {};
      if (result.rows != 0 && result.rows != found->rows)
        fail(Category::data, "{}: checksums of {} are of {} rows, those of {} of {}",
             path_.string(), opened_->arrays[0].name(), result.rows, opened_->arrays[1].name(),
             found->rows);
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

void Hdf5Table::keep_blocks(const BlockOptions& options) {
  block_rows_ = block_rows_of(*this, opened_->arrays[0].chunk_rows(), options.window);
  int64_t block_bytes = block_rows_ * static_cast<int64_t>(row_bytes());
  int64_t blocks = (count_ + block_rows_ - 1) / block_rows_;
  int64_t needed = std::min(blocks, options.window);
  if (needed * block_bytes > options.cache_bytes)
    fail(Category::config,
         "data.hdf5.cache_mib: {} MiB are too small for {} chunks of {}, {} MiB each; set {} or "
         "more, or make smaller chunks with trainer dataset convert",
         options.cache_bytes / mib, needed, location(0), (block_bytes + mib - 1) / mib,
         (needed * block_bytes + mib - 1) / mib);
  int64_t slots = std::min({blocks, options.cache_bytes / block_bytes, options.max_slots});
  cache_ = std::make_unique<BlockCache>(slots, static_cast<size_t>(block_bytes));
  order_.reserve(static_cast<size_t>(fetch_rows()));
}

int64_t Hdf5Table::fetch_rows() const {
  return std::clamp<int64_t>(max_fetched_bytes / static_cast<int64_t>(row_bytes()), 1,
                             max_fetched_rows);
}

void Hdf5Table::fetch(std::span<const int64_t> samples, std::span<std::byte* const> columns) const {
  require(samples.size() <= order_.capacity(), "Hdf5Table: {} rows at once", samples.size());
  std::lock_guard lock(mutex_);
  // Sorted by sample, so that each block is looked up in one run.
  order_.resize(samples.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::sort(order_, {}, [&](size_t row) { return samples[row]; });
  for (size_t row : order_) {
    // A block is the target's rows, then the input's.
    const std::byte* from = block(samples[row] / block_rows_);
    auto at = static_cast<size_t>(samples[row] % block_rows_);
    for (size_t c : {1, 0}) {
      size_t bytes = columns_[c].row_bytes();
      std::memcpy(columns[c] + row * bytes, from + at * bytes, bytes);
      from += static_cast<size_t>(block_rows_) * bytes;
    }
  }
}

// Returns a block from the cache: rows of the target, then rows of the input.
const std::byte* Hdf5Table::block(int64_t index) const {
  BlockCache::Slot found = cache_->get(index);
  if (!found.fresh) return found.memory;
  int64_t first = index * block_rows_;
  std::array<std::byte*, 2> columns = {
      found.memory + static_cast<size_t>(block_rows_) * columns_[1].row_bytes(), found.memory};
  try {
    read(first, std::min(block_rows_, count_ - first), columns);
  } catch (...) {
    cache_->forget(index);
    throw;
  }
  return found.memory;
}

BlockCache::BlockCache(int64_t slots, size_t slot_bytes)
    : slot_bytes_(slot_bytes),
      blocks_(static_cast<size_t>(slots), -1),
      used_(static_cast<size_t>(slots), 0) {
  require(slots >= 1 && slots <= max_slots, "BlockCache: {} slots", slots);
  auto count = static_cast<size_t>(slots);
  try {
    memory_.reset(new std::byte[count * slot_bytes]);  // uninitialized: touches no page
  } catch (const std::bad_alloc&) {
    fail(Category::config, "cannot allocate {} blocks of {} bytes; lower data.hdf5.cache_mib",
         slots, slot_bytes);
  }
}

BlockCache::Slot BlockCache::get(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  bool fresh = found == blocks_.end();
  // Evicts the least recently used; empty slots have clock 0 and come first.
  if (fresh) found = blocks_.begin() + (std::ranges::min_element(used_) - used_.begin());
  auto slot = static_cast<size_t>(found - blocks_.begin());
  blocks_[slot] = block;
  used_[slot] = ++clock_;
  return {memory_.get() + slot * slot_bytes_, fresh};
}

void BlockCache::forget(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  if (found == blocks_.end()) return;
  *found = -1;
  used_[static_cast<size_t>(found - blocks_.begin())] = 0;
}

}  // namespace spire
