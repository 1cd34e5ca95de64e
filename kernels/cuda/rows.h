// Rows of bytes moved from one tensor to another, with zeros around them: what concat, slice and
// pad_channels are on a GPU.
#pragma once
#include <cstddef>
#include <cstdint>

namespace spire::inline kernels {

// All but `rows` in bytes. Of each row of `to`, `width` bytes from to_begin on are written: those
// from `before` on, `kept` of them, are the row of `from` from from_begin on; the others are zeros.
struct RowMove {
  int64_t rows = 0;
  int64_t to_stride = 0, to_begin = 0, width = 0;
  int64_t from_stride = 0, from_begin = 0, before = 0, kept = 0;
};

// to, from: whole tensors, aligned to 16 bytes. Launches on `stream`; nothing when there is nothing
// to write.
void move_rows_cuda(void* stream, const RowMove& move, void* to, const void* from);

}  // namespace spire::inline kernels
