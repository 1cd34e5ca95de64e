// Header of a safetensors file: 8 bytes with its length, then JSON that says which tensor has which
// type, shape and bytes (https://huggingface.co/docs/safetensors, "Format").
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spire/tensor.h>

namespace spire {

inline constexpr uint64_t largest_safetensors_header = 100'000'000;  // bytes, of its JSON
inline constexpr size_t most_safetensors = 100'000;                  // tensors in a file

struct StoredTensor {
  std::string name, dtype;  // dtype: "F32", "BF16", "I64"
  Shape shape;
  uint64_t begin = 0, end = 0;  // in bytes from the end of the header
};

// Parses the JSON of a header that `data_bytes` bytes follow, and returns the tensors in the order
// of their bytes. Throws Error(checkpoint), which says where the header is damaged: also for
// two tensors of one name, bytes outside of the file, overlaps, gaps, and sizes that are not the
// shape's. Types that it does not know may have any size. metadata: receives __metadata__.
std::vector<StoredTensor> parse_safetensors_header(
    std::string_view json, uint64_t data_bytes,
    std::map<std::string, std::string>* metadata = nullptr);

// Returns the 8 bytes of the length and the JSON, padded with spaces so that tensors begin at a
// multiple of 8.
std::string safetensors_header(const std::vector<StoredTensor>& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace spire
