#include "engine/data/numpy/npy_set.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/base/read_file.h"

namespace spire::inline data {
namespace {

constexpr std::string_view ending = ".npy";

using Words = std::vector<std::string>;

const Words& words_of(NpyRole role) {
  static const Words inputs = {"x", "images", "features", "tokens", "X"};
  static const Words targets = {"y", "labels", "values", "targets", "target_images", "masks"};
  return role == NpyRole::input ? inputs : targets;
}

// Returns the names of a part's array, in the order in which they are looked for.
Words candidates(NpyRole role, Part part) {
  Words names;
  for (const std::string& split : words_for(part)) {
    for (const std::string& word : words_of(role)) names.push_back(word + "_" + split);
    for (const std::string& word : words_of(role)) names.push_back(split + "_" + word);
  }
  if (part == Part::train) std::ranges::copy(words_of(role), std::back_inserter(names));
  return names;
}

std::string key_of(NpyRole role, Part part) {
  return fmt::format("data.npy.{}.{}", words_for(part).front(),
                     role == NpyRole::input ? "input" : "target");
}

std::string without_ending(std::string name) {
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

// What messages say of an archive's content; empty for a folder.
std::string content_of(const NpySet& set) {
  if (!set.is_archive()) return "";
  return "; it has " + quoted_list(set.names());
}

}  // namespace

NpySet::NpySet(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) archive_ = std::make_unique<ZipFile>(path);
}

std::vector<std::string> NpySet::names() const {
  std::vector<std::string> names;
  if (archive_)
    for (const std::string& entry : archive_->names()) names.push_back(without_ending(entry));
  return names;
}

// numpy.savez appends .npy to the names of arrays; other writers may not.
std::string NpySet::entry_of(const std::string& name) const {
  std::string entry = fmt::format("{}{}", name, ending);
  return archive_->has(entry) ? entry : name;
}

bool NpySet::has(const std::string& name) const {
  return archive_ ? archive_->has(entry_of(name))
                  : is_there(path_ / fmt::format("{}{}", name, ending));
}

std::shared_ptr<const NpyArray> NpySet::open(const std::string& name) const {
  return archive_ ? std::make_shared<NpyArray>(archive_->open(entry_of(name)))
                  : std::make_shared<NpyArray>(path_ / fmt::format("{}{}", name, ending));
}

std::optional<std::string> find_array(const NpySet& set, NpyRole role, Part part,
                                      const std::string& configured) {
  if (configured != "auto") {
    std::string name = without_ending(configured);
    if (!set.has(name))
      fail(Category::data, "{}: {}: there is no array {}{}; correct the name", set.path().string(),
           key_of(role, part), name, content_of(set));
    return name;
  }
  for (std::string& name : candidates(role, part))
    if (set.has(name)) return std::move(name);
  return {};
}

std::string require_array(const NpySet& set, NpyRole role, Part part,
                          const std::string& configured) {
  if (auto name = find_array(set, role, part, configured)) return *name;
  Words names;
  for (const std::string& word : words_of(role))
    names.push_back(
        fmt::format("{}_{}{}", word, words_for(part).front(), set.is_archive() ? "" : ending));
  fail(Category::data, "{}: there is no {} {}{}; save it by such a name, or set {}",
       set.path().string(), set.is_archive() ? "array" : "file", fmt::join(names, ", "),
       content_of(set), key_of(role, part));
}

}  // namespace spire::inline data
