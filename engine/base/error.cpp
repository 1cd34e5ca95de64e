#include <new>
#include <system_error>

#include <spire/error.h>

#include "engine/base/text.h"

namespace spire {

std::string_view name(Category category) {
  switch (category) {
    case Category::unexpected:
      return "unexpected";
    case Category::config:
      return "config";
    case Category::device:
      return "device";
    case Category::data:
      return "data";
    case Category::checkpoint:
      return "checkpoint";
    case Category::out_of_memory:
      return "out_of_memory";
    case Category::diverged:
      return "diverged";
    case Category::collective:
      return "collective";
    case Category::interrupted:
      return "interrupted";
  }
  return "unknown";
}

Error classify(const std::exception& error) {
  if (auto known = dynamic_cast<const Error*>(&error)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return {Category::out_of_memory,
            "this machine is out of memory; close other programs, or lower batch_size or "
            "data.prefetch"};
  // The system refuses it again: a name that is taken, a missing permission, a limit.
  if (dynamic_cast<const std::system_error*>(&error)) return {Category::device, error.what()};
  return {Category::unexpected, printable(error.what())};
}

}  // namespace spire
