// Checks of an op's inputs with formatted messages.
#pragma once
#include <utility>

#include <spire/op.h>

#include "engine/base/fail.h"

namespace spire {

// Throws Error(config) with the op's name and the formatted message unless `holds`.
template <typename First, typename... Args>
void expect(const Op& op, bool holds, fmt::format_string<First, Args...> format, First&& first,
            Args&&... args) {
  if (holds) return;
  fail(Category::config, "[{}] {}", op.name(),
       fmt::format(format, std::forward<First>(first), std::forward<Args>(args)...));
}

}  // namespace spire
