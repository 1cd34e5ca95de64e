// Checks of an op's inputs, for Op::infer(). Not part of op.h, because CUDA files include op.h and
// must not need fmt.
#pragma once
#include <span>
#include <utility>

#include <spire/error.h>
#include <spire/op.h>

namespace spire {

// Both throw Error(config) with the op's name: expect_inputs() unless the number of inputs is in
// [least, most], expect() with the formatted message unless `holds`.
SPIRE_API void expect_inputs(const Op& op, TensorSpecs inputs, size_t least, size_t most);
template <typename... Args>
void expect(const Op& op, bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (holds) return;
  fail(Category::config, "[{}] {}", op.name(), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spire
