#include "tools/phase_hook.h"

namespace spire::tool {

ThreadStatus::Hook phase_hook() {
  return {};
}

}  // namespace spire::tool
