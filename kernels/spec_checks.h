// Checks of shapes and dtypes that several ops make.
#pragma once
#include <spire/op.h>

namespace spire {

// Throw Error(config) that names the op: expect_rows() unless x is (.., C), not empty, of fp32,
// bf16 or fp16; expect_like() unless `got` equals `want`.
void expect_rows(const Op& op, const TensorSpec& x);
void expect_like(const Op& op, const TensorSpec& got, const TensorSpec& want, const char* what);

// Returns fp32 (C), C being the last axis of x: the spec of gamma, beta and statistics of channels.
TensorSpec per_channel(const TensorSpec& x);

}  // namespace spire
