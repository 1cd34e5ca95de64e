// The error that another process of this program has printed.
#pragma once
#include <string>

namespace spire {

// Returns the message of the last line "error[6]: ..." in what it wrote to stderr; empty if there
// is none.
std::string reported_error(const std::string& err);

}  // namespace spire
