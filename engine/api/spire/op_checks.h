// Checks of an op's inputs, for Op::infer().
#pragma once
#include <string>

#include <spire/error.h>
#include <spire/op.h>

namespace spire {

// Both throw Error(config) with the op's name: expect_inputs() unless the number of inputs is in
// [least, most], expect() with the message unless `holds`.
SPIRE_API void expect_inputs(const Op& op, TensorSpecs inputs, size_t least, size_t most);
SPIRE_API void expect(const Op& op, bool holds, const std::string& message);

}  // namespace spire
