#include "engine/data/formats/hdf5_names.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/listed.h"

namespace spire::inline data {
namespace {

constexpr hsize_t max_names = 1000;  // of a group

using h5::check;
using h5::Handle;

// Called by libhdf5 before it opens another file: remembers which, and refuses.
herr_t refuse_file(const char*, const char*, const char* other, const char*, unsigned*, hid_t,
                   void* elsewhere) {
  *static_cast<std::string*>(elsewhere) = other;
  return -1;
}

Handle access_within(std::string& elsewhere) {
  Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "make properties");
  check(H5Pset_elink_cb(access, refuse_file, &elsewhere), "keep to one file");
  return access;
}

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

// The name at a place in the order of names; empty when it cannot be read.
std::string name_at(hid_t group, hsize_t place, hid_t access) {
  auto read = [&](char* name, size_t bytes) {
    return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, place, name, bytes, access);
  };
  std::string name(static_cast<size_t>(std::max<ssize_t>(0, read(nullptr, 0))), '\0');
  return read(name.data(), name.size() + 1) == std::ssize(name) ? name : "";
}

}  // namespace

Hdf5Names::Hdf5Names(hid_t file, std::filesystem::path path)
    : file_(file), path_(std::move(path)), access_(access_within(elsewhere_)) {}

std::string Hdf5Names::place(const std::string& name) const {
  return fmt::format("{}: {}", path_.string(), name);
}

bool Hdf5Names::has(const std::string& name) const {
  return in_hdf5_file(path_, [&] { return has_link(name); });
}

// libhdf5 answers for the last part of a name; those before it must be groups.
bool Hdf5Names::has_link(const std::string& name) const {
  auto is_link = [&](const std::string& part) {
    return check(H5Lexists(file_, part.c_str(), access_), "look for " + part) > 0;
  };
  for (size_t end = name.find('/', 1); end != std::string::npos; end = name.find('/', end + 1)) {
    std::string group = name.substr(0, end);
    if (!is_link(group)) return false;
    elsewhere_.clear();
    hid_t id = H5Oopen(file_, group.c_str(), access_);
    if (id < 0) fail_opening(group);
    if (H5Iget_type(Handle(id, H5Oclose, "open " + group)) != H5I_GROUP) return false;
  }
  return is_link(name);
}

Handle Hdf5Names::open_dataset(const std::string& name, const ChunkCache& cache) const {
  return in_hdf5_file(path_, [&] {
    if (!has_link(name)) fail_missing(name);
    elsewhere_.clear();
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

// What is unused may be damaged, or a link to anything: so it is told by its kind alone, which does
// not follow links, and is not opened.
std::vector<std::string> Hdf5Names::datasets_in(const std::string& group) const {
  return in_hdf5_file(path_, [&] {
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

// Why libhdf5 did not open what has that name: what is there but cannot be read is not missing.
void Hdf5Names::fail_opening(const std::string& name) const {
  std::string reason = h5::take_reason();
  if (!elsewhere_.empty())
    fail(Category::data,
         "{}: is a link into another file, {}; name that file by data.path, or copy the samples "
         "into this one",
         place(name), listed({elsewhere_}));
  if (H5Oexists_by_name(file_, name.c_str(), access_) == 0)
    fail(Category::data,
         "{}: is a link to nowhere; correct the link, or name a dataset by "
         "data.hdf5.*",
         place(name));
  h5::fail_for("open " + name, reason);
}

void Hdf5Names::fail_missing(const std::string& name) const {
  Collected collected{{}, access_};
  H5Lvisit(file_, H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &collected);
  const auto& names = collected.names;
  fail(Category::data, "{}: has no dataset '{}'; it has: {}; set data.hdf5.train and .test{}",
       path_.string(), name, listed(names), did_you_mean(nearest(name, names)));
}

}  // namespace spire::inline data
