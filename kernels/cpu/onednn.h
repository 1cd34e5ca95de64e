// Use of oneDNN by CPU kernels: descriptors, packings, and a kernel made of primitives. It hides
// the differences between oneDNN 2.x and 3.x. For the kernels' .cpp files only.
//
// Activations are plain (N, H, W, C). oneDNN chooses the layout of weights ("any"), and a Packing
// converts the weights to it; weight gradients are plain fp32. Scratchpads are part of the kernel's
// workspace. Each execute() of oneDNN builds a map of arguments: small allocations that a run
// cannot avoid.
#pragma once
#include <optional>

#include <dnnl.hpp>

#include <spire/packing.h>

#include "kernels/kernel.h"

namespace spire::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// Pooling with dilation. The last arguments are strides, kernel, dilation and both paddings.
#if DNNL_VERSION_MAJOR < 3
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#else
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#endif

// The type in which oneDNN computes a tensor: fp32 for bf16 without onednn_has_bf16().
dnnl::memory::data_type data_type(DType dtype);

Desc nhwc(const TensorSpec& spec);               // (N, H, W, C); oneDNN lists axes as N, C, H, W
Desc row_major(const Dims& dims, DType dtype);   // plain: the last axis is contiguous
Desc any_layout(const Dims& dims, DType dtype);  // oneDNN chooses
// The descriptor of a missing operand, such as a bias.
inline Desc none() {
  return Desc();
}

// While it lives, the calling thread's OpenMP team has this size. oneDNN chooses an implementation
// and splits its work by the size, so it must be the same in prepare() and in run().
class TeamSize {
 public:
  explicit TeamSize(int threads);
  ~TeamSize();
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

// Returns attributes that make the caller provide the scratchpad.
dnnl::primitive_attr attributes();

// Makes the descriptor of a forward primitive. args: the arguments of oneDNN's constructor, in its
// order.
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr, const Args&... args) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(args...), attr, engine};
#else
  return {engine, args..., attr};
#endif
}

// Makes the descriptor of a backward primitive. hint: the descriptor of the forward primitive.
template <typename Primitive, typename Hint, typename... Args>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const Hint& hint,
                                                     const Args&... args) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(args...), attributes(), engine, hint};
#else
  return {engine, args..., hint, attributes()};
#endif
}

// Names a layout by data type, dims, strides and inner blocks: equal names mean equal bytes.
std::string form_of(const Desc& desc);

// Returns the packing of the op's input `input` from layout `plain` to layout `wanted`. rounds: to
// fp32 values that bf16 has, too.
Packing packing(int input, const Desc& plain, const Desc& wanted, const dnnl::engine& engine,
                bool rounds = false);

// Location of a primitive's argument when the kernel runs.
struct Location {
  enum class Kind { input, output, workspace } kind;
  size_t index;  // index of the input or output, or byte offset in the workspace
};
struct Binding {
  int argument;  // DNNL_ARG_...
  Desc desc;
  Location location;
};

// A kernel that runs primitives one after another, on `request.threads` threads. Without
// onednn_has_bf16() it computes bf16 tensors in fp32: it widens inputs in its workspace, and rounds
// weights and outputs to bf16.
class PrimitiveKernel {
 public:
  PrimitiveKernel(const Op& op, const KernelRequest& request);

  const dnnl::engine& engine() const { return engine_; }

  // Appends a primitive and reserves its scratchpad in the workspace.
  template <typename PrimitiveDesc, typename Primitive>
  void append(const PrimitiveDesc& desc, const Primitive& primitive,
              std::vector<Binding> bindings) {
    append_with_scratchpad(primitive, desc.scratchpad_desc(), std::move(bindings));
  }

  // Binds input `index`, a parameter in layout `plain`, as an argument in layout `wanted`; adds a
  // packing if the layouts differ.
  Binding read_weights(int argument, size_t index, const Desc& plain, const Desc& wanted);

  // Binds output `index`, in layout `plain`, as a result that the primitive writes in layout
  // `made`. If the layouts differ, the primitive writes to the workspace, and deliver(), to be
  // called after append(), appends a reorder from the workspace to the output.
  Binding write_result(int argument, size_t index, const Desc& plain, const Desc& made);
  void deliver(const Binding& result, size_t index, const Desc& plain);

  // Applies a relu to output 0 after all primitives. (A relu that oneDNN fuses turns NaN into 0.)
  void append_relu(const TensorSpec& output) { relu_ = output; }

  void operator()(const KernelArgs& args);
  size_t workspace_bytes() const { return workspace_bytes_; }
  const std::vector<Packing>& packings() const { return packings_; }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<Location> locations;
    std::vector<dnnl::memory> memories;      // one per location
    std::vector<dnnl_exec_arg_t> arguments;  // they refer to the memories
  };
  // A bf16 input or output of the op that the primitives read or write as fp32.
  struct Widened {
    Location tensor, floats;
    int64_t elements;
  };
  void append_with_scratchpad(const dnnl::primitive& primitive, const Desc& scratchpad,
                              std::vector<Binding> bindings);
  Location reserve(size_t bytes);
  Location widened(const Location& tensor);
  void convert(Location::Kind kind, const KernelArgs& args) const;

  std::string subject_;  // "[conv2d] fp32 (..) -> fp32 (..)", for messages
  int threads_;
  std::vector<TensorSpec> inputs_, outputs_;
  bool widens_;  // has bf16 inputs that oneDNN computes as fp32
  std::vector<Widened> widened_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::optional<TensorSpec> relu_;
  std::vector<Packing> packings_;
  size_t workspace_bytes_ = 0;
};

// "[conv2d] fp32 (8, 9, 9, 3), fp32 (16, 3, 3, 3) -> fp32 (8, 9, 9, 16)"
std::string describe_request(const Op& op, const KernelRequest& request);

// Throws Error(device) for a primitive that oneDNN cannot prepare.
[[noreturn]] void refuse(const Op& op, const KernelRequest& request, const dnnl::error& error);

// Makes a kernel: body(kernel) appends its primitives, while the OpenMP team has request.threads
// threads. Throws Error(device) with op, shapes and status if oneDNN has no such primitive.
template <typename Body>
Kernel prepare(const Op& op, const KernelRequest& request, const Body& body) {
  TeamSize team(request.threads);
  try {
    PrimitiveKernel kernel(op, request);
    body(kernel);
    size_t bytes = kernel.workspace_bytes();
    std::vector<Packing> packings = kernel.packings();
    return Kernel(std::move(kernel), bytes).reading(std::move(packings));
  } catch (const dnnl::error& error) {
    refuse(op, request, error);
  }
}

}  // namespace spire::onednn
