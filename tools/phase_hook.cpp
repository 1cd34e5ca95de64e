#include "phase_hook.h"

namespace spire::tool {

PhaseBoard::Hook phase_hook() {
  return {};
}

}  // namespace spire::tool
