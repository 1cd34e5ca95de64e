#include "engine/data/formats/hdf5_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/hdf5_program.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using h5::check;
using h5::Handle;

constexpr hsize_t max_names = 1000;  // of a group that are listed

// Callback of libhdf5 before it follows an external link: records the file and refuses.
herr_t refuse_file(const char*, const char*, const char* other, const char*, unsigned*, hid_t,
                   void* external) {
  *static_cast<std::string*>(external) = other;
  return -1;
}

// Returns access properties that refuse external links and record them in `external`.
Handle access_without_external_links(std::string& external) {
  Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "make properties");
  check(H5Pset_elink_cb(access, refuse_file, &external), "keep to one file");
  return access;
}

// Names of datasets, collected by H5Lvisit for the message about a missing one.
struct Collected {
  std::vector<std::string> names;
  hid_t access;
};

herr_t collect_dataset(hid_t group, const char* name, const H5L_info_t*, void* object) {
  auto& collected = *static_cast<Collected*>(object);
  hid_t found = H5Oopen(group, name, collected.access);
  if (found < 0) return 0;  // a link to nowhere, or into another file
  if (H5Iget_type(found) == H5I_DATASET) collected.names.emplace_back(name);
  H5Oclose(found);
  return 0;
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

// Returns the index-th name in alphabetical order; empty: it cannot be read.
std::string name_at(hid_t group, hsize_t index, hid_t access) {
  auto read = [&](char* name, size_t bytes) {
    return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, name, bytes, access);
  };
  std::string name(static_cast<size_t>(std::max<ssize_t>(0, read(nullptr, 0))), '\0');
  return read(name.data(), name.size() + 1) == std::ssize(name) ? name : "";
}

}  // namespace

void require_hdf5_file(const fs::path& path) {
  if (!is_there(path)) fail(Category::data, "{}: no such file; check data.path", path.string());
  RegularFile checked(path, Category::data);  // libhdf5 would open a pipe or device, too
}

Handle open_hdf5_file(const fs::path& path) {
  require_hdf5_file(path);
  return translate_hdf5_errors(path, [&] { return h5::open_without_lock(path); });
}

FileStamp stamp_of_hdf5(hid_t file, const fs::path& path) {
  return translate_hdf5_errors(path, [&] {
    void* descriptor = nullptr;  // of the driver sec2: pointer to the file descriptor
    check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), "look at the open file");
    return stamp_of(*static_cast<const int*>(descriptor), path);
  });
}

Hdf5LinkResolver::Hdf5LinkResolver(hid_t file, std::filesystem::path path)
    : file_(file), path_(std::move(path)), access_(access_without_external_links(external_)) {}

std::string Hdf5LinkResolver::location(const std::string& name) const {
  return fmt::format("{}: {}", path_.string(), name);
}

bool Hdf5LinkResolver::has(const std::string& name) const {
  return translate_hdf5_errors(path_, [&] { return has_link(name); });
}

// H5Lexists answers for the last part of a path only, and fails where a part before it is no group:
// so each part is looked up.
bool Hdf5LinkResolver::has_link(const std::string& name) const {
  auto is_link = [&](const std::string& part) {
    return check(H5Lexists(file_, part.c_str(), access_), "look for " + part) > 0;
  };
  for (size_t end = name.find('/', 1); end != std::string::npos; end = name.find('/', end + 1)) {
    std::string group = name.substr(0, end);
    if (!is_link(group)) return false;
    external_.clear();
    hid_t id = H5Oopen(file_, group.c_str(), access_);
    if (id < 0) fail_opening(group);
    if (H5Iget_type(Handle(id, H5Oclose, "open " + group)) != H5I_GROUP) return false;
  }
  return is_link(name);
}

Handle Hdf5LinkResolver::open_dataset(const std::string& name, const ChunkCache& cache) const {
  return translate_hdf5_errors(path_, [&] {
    if (!has_link(name)) fail_missing(name);
    external_.clear();
    // The chunk cache is a property of opening; 1.0 evicts fully read chunks first.
    check(H5Pset_chunk_cache(access_, cache.slots, cache.bytes, 1.0), "size the chunk cache");
    hid_t id = H5Oopen(file_, name.c_str(), access_);
    if (id < 0) fail_opening(name);
    {
      Handle object(id, H5Oclose, "open " + name);
      if (H5Iget_type(object) != H5I_DATASET) fail_missing(name);
    }
    return Handle(H5Dopen2(file_, name.c_str(), access_), H5Dclose, "open " + name);
  });
}

std::vector<std::string> Hdf5LinkResolver::names_at_top() const {
  return translate_hdf5_errors(path_, [&] {
    std::vector<std::string> names;
    check(H5Literate(file_, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names),
          "list the names of the file");
    return names;
  });
}

// Unused objects may be damaged, or links to anything: so only their kind is read, which opens
// nothing and follows no links.
std::vector<std::string> Hdf5LinkResolver::datasets_in(const std::string& group) const {
  return translate_hdf5_errors(path_, [&] {
    Handle opened(H5Oopen(file_, group.c_str(), access_), H5Oclose, "open " + group);
    H5G_info_t info{};
    check(H5Gget_info(opened, &info), "list " + group);
    std::string before = group == "/" ? "" : group.substr(group.starts_with('/') ? 1 : 0) + "/";
    std::vector<std::string> names;
    for (hsize_t i = 0; i < std::min(info.nlinks, max_names); ++i) {
      if (H5Gget_objtype_by_idx(opened, i) != H5G_DATASET) continue;
      std::string name = name_at(opened, i, access_);
      if (!name.empty()) names.push_back(before + name);
    }
    return names;
  });
}

// Reports why an existing name could not be opened: an external link, a dangling one, or libhdf5's
// reason.
void Hdf5LinkResolver::fail_opening(const std::string& name) const {
  std::string reason = h5::take_reason();
  if (!external_.empty())
    fail(Category::data,
         "{}: is a link into another file, {}; name that file by data.path, or copy the samples "
         "into this one",
         location(name), quoted_list({external_}));
  if (H5Oexists_by_name(file_, name.c_str(), access_) == 0)
    fail(Category::data,
         "{}: is a link to nowhere; correct the link, or name a dataset by "
         "data.hdf5.*",
         location(name));
  h5::fail_for("open " + name, reason);
}

void Hdf5LinkResolver::fail_missing(const std::string& name) const {
  Collected collected{{}, access_};
  H5Lvisit(file_, H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &collected);
  const auto& names = collected.names;
  fail(Category::data, "{}: has no dataset '{}'; it has: {}; set data.hdf5.train and .test{}",
       path_.string(), name, quoted_list(names), did_you_mean(nearest(name, names)));
}

// The program reads structure, attributes, checksums, the chunk index of both splits, and some of
// the rows. Without it files are opened unchecked, and a note says so.

namespace {

// names: of datasets, as the program takes them.
Hdf5CheckResult check_file(const fs::path& path, std::vector<std::string> names) {
  require_hdf5_file(path);
  Hdf5CheckResult checked = {ChangeDetectingReader(path).stamp(), {}};
  if (!h5::read_by_program(path, std::move(names), Category::data))
    checked.notes = {h5::unchecked_words(path)};
  return checked;
}

// The part of spire-hdf5-check that reads data files.

constexpr int64_t max_parts = 4;           // of a split's rows
constexpr int64_t checked_part = 1 << 20;  // of a part
constexpr std::array attributes = {"mean",        "stddev",     "feature_names",
                                   "class_names", "vocabulary", "classes"};

// Calls read() and ignores Error(data): a run that needs the part reports it. Here it only matters
// that reading ends.
template <typename Read>
void read_to_end(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
  }
}

void probe(const Hdf5Table& table) {
  table.read_chunk_index();
  table.layout();
  for (size_t column = 0; column < (table.has_target() ? 2 : 1); ++column)
    for (const char* name : attributes) {
      read_to_end([&] { table.words(column, name); });
      read_to_end([&] { table.numbers(column, name); });
    }
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = std::clamp<int64_t>(checked_part / row_bytes, 1, table.count());
  std::array<std::vector<std::byte>, 2> memory;
  for (size_t c : {0, 1})
    memory[c].resize(static_cast<size_t>(rows) * table.columns()[c].row_bytes());
  int64_t last = table.count() - rows;
  for (int64_t part = 0; part < max_parts; ++part)
    read_to_end([&] {
      table.read(last * part / (max_parts - 1), rows,
                 std::array<std::byte*, 2>{memory[0].data(), memory[1].data()});
    });
}

void probe_file(const std::filesystem::path& path, const Hdf5Config& config) {
  PartNames parts = hdf5_parts(path, {});
  ArrayNames usual;
  for (const auto& [names, group] :
       {std::pair{&config.train, parts.train}, {&config.test, parts.test}, {&usual, parts.val}}) {
    if (group.empty()) continue;
    Hdf5Table table(path, *names, group);
    table.infer_columns();
    table.datasets_beside();
    read_to_end([&] { table.checksums(); });
    probe(table);
  }
}

void probe_samples(const std::filesystem::path& path, const ArrayNames& names) {
  Hdf5Table table(path, names);
  // Whatever the model reads them as.
  auto numbers = [&](size_t column) -> Column {
    return {"", Shape(table.stored(column).row), DType::f64};
  };
  table.set_columns({numbers(0), table.has_target() ? numbers(1) : Column()}, 1);
  probe(table);
}

}  // namespace

Hdf5CheckResult check_hdf5_file(const fs::path& path, const Hdf5Config& config) {
  return check_file(
      path, {config.train.input, config.train.target, config.test.input, config.test.target});
}

Hdf5CheckResult check_hdf5_samples(const fs::path& path, const ArrayNames& names) {
  return check_file(path, {names.input, names.target});
}

void hdf5_check_main(int argc, char** argv) {
  std::filesystem::path path = argc > 1 ? argv[1] : "";
  h5::end_with_verdict(path, Category::data, [&] {
    if (argc != 4 && argc != 6)
      fail(Category::config, "{} FILE [INPUT TARGET [INPUT TARGET]]", h5::check_program);
    ArrayNames first = {argv[2], argv[3]};
    translate_hdf5_errors(path, [&] {
      if (argc == 4) return probe_samples(path, first);
      Hdf5Config config;
      config.train = first;
      config.test = {argv[4], argv[5]};
      probe_file(path, config);
    });
  });
}

}  // namespace spire
