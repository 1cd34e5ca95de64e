#include "engine/weights/file_names.h"

#include <algorithm>

#include <spire/error.h>
#include <spire/text.h>

namespace spire::inline weights {
namespace {

// An entry of init.map.
struct Renaming {
  std::string theirs, ours;
};

Renaming parse(const std::string& entry) {
  size_t colon = entry.find(':');
  if (colon == entry.npos || colon == 0)
    fail(Category::config,
         "init.map: '{}' does not say what becomes of a name; write {{theirs: ours}}",
         printable(entry));
  Renaming renaming{entry.substr(0, colon), entry.substr(colon + 1)};
  auto stars = std::ranges::count(renaming.theirs, '*');
  if (stars > 1 || stars != std::ranges::count(renaming.ours, '*'))
    fail(Category::config,
         "init.map: '{}': a pattern has one '*' on either side, for the text that stays",
         printable(entry));
  return renaming;
}

// Returns the new name; nothing if the entry does not fit.
std::optional<std::string> renamed(const Renaming& entry, const std::string& name) {
  const std::string &theirs = entry.theirs, &ours = entry.ours;
  if (size_t star = theirs.find('*'); star != theirs.npos) {
    std::string before = theirs.substr(0, star), after = theirs.substr(star + 1);
    bool fits = name.size() >= before.size() + after.size() && name.starts_with(before) &&
                name.ends_with(after);
    if (!fits) return std::nullopt;
    std::string kept = name.substr(star, name.size() - before.size() - after.size());
    size_t place = ours.find('*');
    return ours.substr(0, place) + kept + ours.substr(place + 1);
  }
  if (name == theirs) return ours;
  if (theirs.ends_with('.') && name.starts_with(theirs)) return ours + name.substr(theirs.size());
  return std::nullopt;
}

}  // namespace

void check_map_entry(const std::string& entry) {
  parse(entry);
}

FileNames::FileNames(const WeightFile& file, const std::vector<std::string>& map) {
  std::vector<Renaming> entries;
  for (const std::string& entry : map) entries.push_back(parse(entry));
  std::vector<bool> used(map.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    std::string name = file.tensors()[i].name;
    names.push_back(name);
    for (size_t entry = 0; entry < map.size(); ++entry) {
      auto other = renamed(entries[entry], name);
      if (!other) continue;
      used[entry] = true;
      name = *other;
      break;
    }
    if (!tensors_.emplace(name, i).second)
      fail(Category::config, "init.map: two tensors of {} would be named '{}'",
           file.path().string(), printable(name));
    names_.push_back(std::move(name));
  }
  for (size_t entry = 0; entry < map.size(); ++entry) {
    if (used[entry]) continue;
    const std::string& theirs = entries[entry].theirs;
    fail(Category::config, "init.map: '{}' fits no tensor of {}, which has {}{}", printable(theirs),
         file.path().string(), quoted_list(names), did_you_mean(nearest(theirs, names)));
  }
}

std::optional<size_t> FileNames::find(const std::string& name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace spire::inline weights
