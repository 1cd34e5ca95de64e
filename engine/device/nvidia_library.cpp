#include "engine/device/nvidia_library.h"

#include <cstdlib>
#include <string_view>

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <glob.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr const char* chosen_folders = "SPIRE_CUDA_FOLDERS";
constexpr std::string_view library_folders = "/{lib64,lib,targets/{x86_64,sbsa}-linux/lib}";
constexpr std::string_view wheel_folders = "/nvidia/*/lib";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> colon_parts(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
    end = std::min(list.find(':', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
  }
  return parts;
}

// Returns the path as a pattern that matches it alone.
std::string as_pattern(const fs::path& path) {
  std::string pattern;
  for (char c : path.string()) {
    if (std::string_view("\\*?[]{},~").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Returns the paths of a file in the folders of a pattern; its name alone for the loader's.
std::vector<std::string> files_in(const std::string& pattern, const std::string& file) {
  if (pattern.empty()) return {file};
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob((pattern + "/" + file).c_str(), GLOB_BRACE, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

// Returns the folder above that of the first python3 on PATH; empty without one.
fs::path python_prefix() {
  std::error_code error;
  for (const fs::path folder : colon_parts(variable("PATH"))) {
    if (fs::exists(folder / "python3", error)) return folder.lexically_normal().parent_path();
  }
  return {};
}

// Opens a file, null if that fails. words: set to the loader's unless it found no such file.
void* open_file(const std::string& file, std::string& words) {
  if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* said = ::dlerror();
  if (said && !std::string_view(said).starts_with(file + ": cannot open")) words = said;
  return nullptr;
}

}  // namespace

std::vector<std::string> nvidia_folders(const fs::path& own, int cuda) {
  std::vector<std::string> patterns;
  if (std::string chosen = variable(chosen_folders); !chosen.empty()) {
    for (const std::string& folder : colon_parts(chosen)) patterns.push_back(as_pattern(folder));
    return patterns;
  }
  // spire/_core.so, spire/lib/libspire.so and spire/bin/trainer lie in Python's folder of packages.
  fs::path folder = own.parent_path();
  for (int up = 0; up < 3 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    patterns.push_back(as_pattern(folder).append(wheel_folders));
  patterns.emplace_back();
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string home = variable(name); !home.empty())
      patterns.push_back(as_pattern(home).append(library_folders));
  }
  for (const std::string& root :
       {std::string("/usr/local/cuda"), fmt::format("/usr/local/cuda-{}*", cuda),
        std::string("/opt/cuda")})
    patterns.push_back(root + std::string(library_folders));
  if (fs::path prefix = python_prefix(); !prefix.empty())
    patterns.push_back(as_pattern(prefix)
                           .append("/{,local/}lib/python3*/{site,dist}-packages")
                           .append(wheel_folders));
  return patterns;
}

NvidiaLibrary::NvidiaLibrary(Name name) : name_(std::move(name)) {
  // Two copies would share the first one's sub-libraries, which they open by name.
  library_ = ::dlopen(name_.file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library_) return;
  std::string words;
  std::vector<std::string> places;
  for (const std::string& pattern : nvidia_folders(own_file(), name_.cuda)) {
    places.push_back(pattern.empty() ? "the folders of the system's loader" : pattern);
    for (const std::string& path : files_in(pattern, name_.file)) {
      library_ = open_file(path, words);
      if (library_) return;
    }
  }
  why_not_ =
      !words.empty() ? words : fmt::format("no {} in {}", name_.file, fmt::join(places, ", "));
}

void* NvidiaLibrary::look_up(const char* function) const {
  return library_ ? ::dlsym(library_, function) : nullptr;
}

void* NvidiaLibrary::look_up_or_throw(const char* function) const {
  if (!library_)
    fail(Category::device,
         "{} was not found: {}; install it (pip: {}), or add its folder to LD_LIBRARY_PATH",
         name_.name, why_not_, name_.wheel);
  if (void* found = look_up(function)) return found;
  fail(Category::device, "{} has no {}: it is too old; install a newer one (pip: {})", name_.name,
       function, name_.wheel);
}

}  // namespace spire
