// Libraries that end the whole program in the middle of a run: OpenMP does so where it gets no
// thread. The code they end it with, 1, would have it started again, and nobody says why.
#pragma once

namespace spire::tool {

// While one lives, an exit() that some library calls says so on stderr and becomes code 3. At most
// one at a time, in main().
class UnaskedExit {
 public:
  UnaskedExit();
  ~UnaskedExit();
  UnaskedExit(const UnaskedExit&) = delete;
  UnaskedExit& operator=(const UnaskedExit&) = delete;
};

}  // namespace spire::tool
