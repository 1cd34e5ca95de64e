#include "engine/train/library_versions.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/device/gpu_requirements.h"

namespace spire::inline training {

LibraryVersions library_versions(DeviceKind kind) {
  auto cuda = kind == DeviceKind::cuda ? cuda_versions() : std::nullopt;
  if (!cuda) return {};
  return {{"cuBLASLt", to_string(cuda->cublas.found)}, {"cuDNN", to_string(cuda->cudnn.found)}};
}

std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now) {
  std::vector<std::string> changes;
  for (const auto& [library, version] : now) {
    auto was = before.find(library);
    if (was != before.end() && was->second != version)
      changes.push_back(fmt::format("{} is {}, was {}", library, version, was->second));
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace spire::inline training
