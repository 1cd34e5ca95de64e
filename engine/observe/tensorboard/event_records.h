// Events as TensorBoard reads them: messages of protocol buffers, each in a frame of a TFRecord
// file. Functions of events return such frames. (tensorflow/core/util/event.proto,
// tensorflow/core/framework/summary.proto, https://www.tensorflow.org/tutorials/load_data/tfrecord)
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spire {

// RFC 3720, appendix B.4; polynomial 0x1EDC6F41. No library of Debian 12 has it alone.
uint32_t crc32c(std::string_view bytes);

// Rotated and shifted, so that the checksum of data which holds checksums stays a good one.
// (tensorflow/core/lib/hash/crc32c.h)
uint32_t masked_crc32c(std::string_view bytes);

// Length and data, each with its masked CRC-32C; numbers are little-endian.
std::string tfrecord(std::string_view data);

// seconds: Unix time.
std::string first_event(double seconds);  // the first of each file: version 2 of the format

// The start of a process whose first step is `step`. From the second one on, a reader drops what it
// has read of this step and later ones.
std::string session_event(double seconds, int64_t step);

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value; kept as floats
std::string scalar_event(double seconds, int64_t step, const Scalars& scalars);

// A text in Markdown.
std::string text_event(double seconds, int64_t step, std::string_view tag, std::string_view text);

}  // namespace spire
