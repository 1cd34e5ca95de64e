// Names in a message: 'a', 'b', 'c' and 992 more.
#pragma once
#include <string>
#include <vector>

namespace spire::inline data {

// The first `most` of them, quoted; nothing becomes "none".
std::string listed(const std::vector<std::string>& names, size_t most = 8);

}  // namespace spire::inline data
