// The libraries whose versions decide the last bits of what a GPU computes.
#pragma once
#include <map>
#include <string>

#include "engine/device/device.h"

namespace spire::inline training {

using LibraryVersions = std::map<std::string, std::string>;  // library -> version

// Of a run on devices of this kind, as checkpoints record them (TrainingState::versions): cuBLASLt
// and cuDNN, as far as they are known. Empty on CPUs.
LibraryVersions library_versions(DeviceKind kind);

// "cuBLASLt is 13.1.0, was 13.0.2; ...": the libraries that both name with other versions; empty
// where there are none.
std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now);

}  // namespace spire::inline training
