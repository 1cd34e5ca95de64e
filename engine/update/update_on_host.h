// The update of a GPU's weights by the CPU: master weights and optimizer state lie in the host's
// memory. Each step the reduced gradients come to the host, and the new weights go to the GPU.
#pragma once
#include "engine/update/parameter_update.h"

namespace spire::inline update {

// options: as of a GPU's update; `host_lanes` share the work.
std::unique_ptr<ParameterUpdate> make_update_on_host(const ParameterUpdate::Options& options,
                                                     const ParameterLayout& layout);

}  // namespace spire::inline update
