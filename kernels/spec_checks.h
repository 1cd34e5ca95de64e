// What several ops share: checks of shapes and dtypes, and how they set their gradients.
#pragma once
#include <utility>

#include <spire/op.h>

namespace spire {

// Throw Error(config) that names the op: expect_rows() unless x is (.., C), not empty, of fp32,
// bf16 or fp16; expect_like() and expect_taken() unless `got` equals `want`: "beta must be ..",
// "takes a mix ..".
void expect_rows(const Op& op, const TensorSpec& x);
void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what);
void expect_taken(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what);

// Returns the spec fp32 (C), where C is the last axis of x: that of gamma, beta and statistics per
// channel.
TensorSpec per_channel(const TensorSpec& x);

// Emits a SomeOp, made of `arguments`, whose output 0 is the gradient of input `index`; nothing if
// that wants none, or if no loss depends on the output whose gradient inputs[0] is.
template <typename SomeOp, typename... Arguments>
void emit_gradient(GradientBuilder& builder, int index, std::vector<Value> inputs,
                   Arguments&&... arguments) {
  if (!inputs[0] || !builder.wants_gradient(index)) return;
  auto op = std::make_unique<SomeOp>(std::forward<Arguments>(arguments)...);
  builder.set_gradient(index, builder.emit(std::move(op), std::move(inputs))[0]);
}

// Sets the gradients of the inputs from `first` on, those of them that want one.
void set_gradients(GradientBuilder& builder, std::span<const Value> gradients, int first = 0);

}  // namespace spire
