// What CUDA kernels refuse. The messages are apart, as .cu files do not include fmt.
#pragma once
#include <cstdint>

#include <spire/op.h>

namespace spire {

// Throws Error(unexpected): no sort takes so many positions or ids.
[[noreturn]] void refuse_sort(int64_t positions, int64_t ids);

// Throw Error(config): attention takes heads of at most `most` columns, and shorter sequences.
[[noreturn]] void refuse_heads(const Op& op, int64_t columns, int64_t most);
[[noreturn]] void refuse_length(const Op& op, const Shape& qkv);

// Throws Error(device): attention with a cache takes heads of at most `most` columns.
[[noreturn]] void refuse_cached_heads(int64_t columns, int64_t most);

}  // namespace spire
