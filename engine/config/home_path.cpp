// The home directory at the head of a path.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include <spire/load_config.h>

namespace spire {

namespace {

// Returns the home directory in the system's list of users; "" if it has no such user. name: "" for
// the user of this process.
std::string listed_home(const std::string& name) {
  std::array<char, 4096> text{};
  passwd entry{}, *found = nullptr;
  name.empty() ? getpwuid_r(getuid(), &entry, text.data(), text.size(), &found)
               : getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

}  // namespace

std::string expand_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  size_t end = std::min(path.find('/'), path.size());
  std::string name = path.substr(1, end - 1), home;
  if (const char* set = std::getenv("HOME"); name.empty() && set != nullptr) home = set;
  if (home.empty()) home = listed_home(name);
  return home.empty() ? path : home + path.substr(end);
}

}  // namespace spire
