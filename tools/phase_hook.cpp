// phase_hook() of the program itself; see commands.h.
#include "tools/commands.h"

namespace spire::tool {

PhaseHook phase_hook() {
  return {};
}

}  // namespace spire::tool
