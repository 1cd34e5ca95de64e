#include <array>
#include <new>
#include <system_error>
#include <utility>

#include <spire/error.h>

#include "engine/base/text.h"

namespace spire {

std::string_view to_string(Category category) {
  using enum Category;
  constexpr std::array<std::pair<Category, std::string_view>, 9> names = {
      {{unexpected, "unexpected"},
       {config, "config"},
       {device, "device"},
       {data, "data"},
       {checkpoint, "checkpoint"},
       {out_of_memory, "out_of_memory"},
       {diverged, "diverged"},
       {collective, "collective"},
       {interrupted, "interrupted"}}};
  for (const auto& [known, text] : names)
    if (known == category) return text;
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
