// The bytes with which NumPy's .npy files begin.
#pragma once
#include <string_view>

namespace spire {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

}  // namespace spire
