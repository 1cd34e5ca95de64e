#include "engine/device/nvml/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace spire {

using namespace nvml;

void* find_nvml_function(void* library, const char* name) {
  return library ? ::dlsym(library, name) : nullptr;
}

namespace {

std::string why_not_started(const std::string& words, nvmlReturn_t error) {
  switch (error) {
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "the NVIDIA driver is installed but not loaded; load it (modprobe nvidia) or restart "
             "the machine";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "the NVIDIA driver was updated while the old one was loaded; restart the machine";
    case NVML_ERROR_NO_PERMISSION:
      return "this user or container may not use the NVIDIA driver (check /dev/nvidiactl)";
    default:
      return fmt::format("the NVIDIA driver failed: nvmlInit_v2: {}; check nvidia-smi", words);
  }
}

}  // namespace

NvmlLibrary::NvmlLibrary(const std::string& file)
    : library_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    const char* reason = ::dlerror();
    why_not_ = fmt::format(
        "no NVIDIA driver was found ({}); install it, or name its libnvidia-ml.so.1 by SPIRE_NVML",
        reason ? reason : file);
  } else if (!init_.there() || !shut_down_.there()) {
    why_not_ = fmt::format("{} is not NVML: it lacks nvmlInit_v2", file);
  } else if (nvmlReturn_t error = init_(); error != NVML_SUCCESS) {
    why_not_ = why_not_started(words(error), error);
  }
}

NvmlLibrary::~NvmlLibrary() {
  if (why_not_.empty()) shut_down_();
  if (library_) ::dlclose(library_);
}

std::string NvmlLibrary::words(nvmlReturn_t error) const {
  void* function = find_nvml_function(library_, "nvmlErrorString");
  if (!function) return fmt::format("error {}", static_cast<int>(error));
  const char* text = reinterpret_cast<decltype(&nvmlErrorString)>(function)(error);
  return text ? text : fmt::format("error {}", static_cast<int>(error));
}

}  // namespace spire
