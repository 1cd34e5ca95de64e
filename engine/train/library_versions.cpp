#include <spire/train/library_versions.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace spire {

LibraryVersions library_versions(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return {};
  CudaStatus cuda = discover_cuda();
  LibraryVersions versions{{"cuBLASLt", cuda.cublas}, {"cuDNN", cuda.cudnn}};
  std::erase_if(versions, [](const auto& library) { return library.second.empty(); });
  return versions;
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

}  // namespace spire
