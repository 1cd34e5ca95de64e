// CRC-32C (Castagnoli), and the form in which TFRecord files store it.
#pragma once
#include <cstdint>
#include <string_view>

namespace spire {

// RFC 3720, appendix B.4; polynomial 0x1EDC6F41. No library of Debian 12 has it alone.
uint32_t crc32c(std::string_view bytes);

// Rotated and shifted, so that the checksum of data which holds checksums stays a good one.
// (tensorflow/core/lib/hash/crc32c.h)
inline uint32_t masked_crc32c(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace spire
