#include "engine/base/own_file.h"

#include <string_view>
#include <system_error>

#include <dlfcn.h>

namespace spire {

namespace fs = std::filesystem;

// The loader knows a program only by the word that started it.
fs::path own_file() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<void*>(&own_file), &info) && info.dli_fname) {
    fs::path file = fs::absolute(info.dli_fname, error).lexically_normal();
    bool is_path = std::string_view(info.dli_fname).find('/') != std::string_view::npos;
    if (is_path && fs::exists(file, error)) return file;
  }
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace spire
