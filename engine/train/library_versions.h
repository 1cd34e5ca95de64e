// Versions of the libraries that decide the last bits of a GPU's results.
#pragma once
#include <map>
#include <string>

#include "engine/device/device.h"

namespace spire::inline training {

using LibraryVersions = std::map<std::string, std::string>;  // library -> version

// Versions for devices of this kind, as checkpoints record them: cuBLASLt and cuDNN where known.
// Empty on CPUs.
LibraryVersions library_versions(DeviceKind kind);

// Lists the libraries whose version changed: "cuBLASLt is 13.1.0, was 13.0.2; ..."; empty if none.
std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now);

}  // namespace spire::inline training
