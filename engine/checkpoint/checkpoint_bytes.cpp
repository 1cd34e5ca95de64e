#include "engine/checkpoint/checkpoint_bytes.h"

#include <spire/error.h>

namespace spire::inline checkpoint {

void CheckpointBytes::read(uint64_t offset, std::span<char> out) const {
  bool inside = offset <= size() && out.size() <= size() - offset;
  if (!inside || file_.read_at(offset, std::as_writable_bytes(out)) < out.size())
    fail(Category::checkpoint, "it is cut off after {} bytes", size());
}

std::string CheckpointBytes::read(uint64_t offset, uint64_t count) const {
  if (count > size()) fail(Category::checkpoint, "it is cut off after {} bytes", size());
  std::string bytes(count, '\0');
  read(offset, bytes);
  return bytes;
}

}  // namespace spire::inline checkpoint
