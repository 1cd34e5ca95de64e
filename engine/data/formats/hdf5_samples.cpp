#include "engine/data/formats/hdf5_samples.h"

#include <string_view>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";

// Returns the first of `known` that the group has; empty: none. group: "" for the top of the file.
std::string first_in(const Hdf5LinkResolver& links, const std::string& group,
                     std::initializer_list<const char*> known) {
  for (const char* each : known)
    if (std::string name = group.empty() ? each : group + "/" + each; links.has(name)) return name;
  return "";
}

bool is_named(const Hdf5LinkResolver& links, const std::string& name) {
  return name != "auto" && links.has(name);
}

std::string input_of(const Hdf5LinkResolver& links, const std::string& configured,
                     const std::filesystem::path& file) {
  if (is_named(links, configured)) return configured;
  for (const char* group : {"test", "", "train"})
    if (std::string name = first_in(links, group, {"images", "features", "tokens"}); !name.empty())
      return name;
  fail(Category::data,
       "{}: has no dataset images, features or tokens, at its top or in test or train; name it by "
       "data.hdf5.test.input",
       file.string());
}

std::string group_of(const std::string& name) {
  return name.substr(0, name.rfind('/') == name.npos ? 0 : name.rfind('/'));
}

}  // namespace

bool is_hdf5(const std::filesystem::path& path) {
  return begins_with(path, signature);
}

Hdf5Samples::Hdf5Samples(const std::filesystem::path& file, const ArrayNames& names)
    : path_(file),
      file_(open_hdf5_file(file)),
      stamp_(stamp_of_hdf5(file_, file)),
      links_(file_, file) {
  translate_hdf5_errors(path_, [&] {
    std::string input = input_of(links_, names.input, file);
    std::string target = is_named(links_, names.target)
                             ? names.target
                             : first_in(links_, group_of(input),
                                        {"labels", "values", "targets", "target_images", "masks"});
    input_.emplace(links_, file, input, Hdf5Array::Cache::chunks);
    if (!target.empty()) target_.emplace(links_, file, target, Hdf5Array::Cache::chunks);
  });
  if (target_ && target_->rows() != input_->rows())
    fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set",
         target_->location(), target_->rows(), input_->name(), input_->rows());
}

void Hdf5Samples::require_unchanged() const {
  data::require_unchanged(path_, stamp_, stamp_of_hdf5(file_, path_));
}

}  // namespace spire::inline data
