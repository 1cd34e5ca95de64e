// The choice among the updates of the folder.
#include "engine/update/parameter_update.h"

#include "engine/update/host_update.h"

namespace spire {

size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout) {
  if (options.on_host) return 0;
  if (options.device().kind == DeviceKind::cuda) return cuda_update_bytes(options, layout);
  PieceCounts pieces = count_pieces(options.owned, options.spans, layout);
  return slot_count(options.optimizer, options.ema) * static_cast<size_t>(pieces.state_floats) *
         sizeof(float);
}

std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout) {
  if (options.on_host) return make_update_on_host(options, layout);
  if (options.device().kind == DeviceKind::cuda) return make_cuda_parameter_update(options, layout);
  return std::make_unique<HostUpdate>(options, layout);
}

}  // namespace spire
