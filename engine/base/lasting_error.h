// Failures that trying again does not mend.
#pragma once
#include <spire/error.h>

namespace spire {

// No rights, a name that is taken, a folder that is gone: somebody has to do something first.
class LastingError : public Error {
 public:
  using Error::Error;
};

}  // namespace spire
