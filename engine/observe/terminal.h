// Capabilities of the stream that a person reads.
#pragma once
#include <functional>

namespace spire::inline observe {

struct Terminal {
  bool interactive = false;                        // a line may be rewritten in place
  bool colour = false;                             // implies interactive
  std::function<int()> width = [] { return 80; };  // columns at this moment
};

// Finds the capabilities by the descriptor, NO_COLOR and TERM. A file, a pipe or TERM=dumb is not
// interactive.
Terminal terminal_of(int descriptor);

}  // namespace spire::inline observe
