// What the kernels share of oneDNN, and the one place where its 2.x and 3.x interfaces differ. This
// header belongs to the kernels' .cpp files only.
//
// Activations are plain (N,H,W,C); weights lie as oneDNN asks ("any"), made by a Packing; weight
// gradients leave in the plain layout, fp32. Scratchpads lie in the kernel's workspace. oneDNN
// builds its argument map anew in each execute: small allocations of its own, none of ours.
#pragma once
#include <dnnl.hpp>

#include "kernels/kernel.h"

namespace spire::inline kernels::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// The pooling whose arguments end with strides, kernel, dilation and both paddings.
#if DNNL_VERSION_MAJOR < 3
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#else
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#endif

dnnl::memory::data_type data_type(DType dtype);

Desc nhwc(const TensorSpec& spec);               // (N,H,W,C), said in oneDNN's order N,C,H,W
Desc row_major(const Dims& dims, DType dtype);   // plain, last axis contiguous
Desc any_layout(const Dims& dims, DType dtype);  // oneDNN chooses
inline Desc none() {
  return Desc();
}  // an operand that is not there: no bias

// The calling thread's OpenMP team has `threads` threads while this lives. oneDNN chooses its
// implementation and cuts its work by it, so it holds at prepare and at run.
class TeamSize {
 public:
  explicit TeamSize(int threads);
  ~TeamSize();
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

dnnl::primitive_attr attributes(bool relu);  // scratchpad of the user; relu on the result if asked

// The primitive descriptor for `args`, given in the order of oneDNN's own constructors.
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr, const Args&... args) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(args...), attr, engine};
#else
  return {engine, args..., attr};
#endif
}

// Same for a backward primitive; hint is the forward one's descriptor.
template <typename Primitive, typename Hint, typename... Args>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const Hint& hint,
                                                     const Args&... args) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(args...), attributes(false), engine, hint};
#else
  return {engine, args..., hint, attributes(false)};
#endif
}

// Names data type, dims, strides and inner blocks: equal names, equal bytes.
std::string form_of(const Desc& desc);

// Input `input` of the op, plain in `plain`, wanted in `wanted`.
Packing packing(int input, const Desc& plain, const Desc& wanted, const dnnl::engine& engine);

// Where an argument of a primitive lies when the kernel runs.
struct Place {
  enum class Kind { input, output, workspace } kind;
  size_t index;  // of the op's input or output; byte offset in the workspace
};
struct Binding {
  int argument;  // DNNL_ARG_...
  Desc desc;
  Place place;
};

// Primitives run one after another on one stream, on `request.threads` threads.
class PrimitiveKernel : public Kernel {
 public:
  PrimitiveKernel(const Op& op, const KernelRequest& request);

  const dnnl::engine& engine() const { return engine_; }

  // Appends a primitive; its scratchpad joins the workspace.
  template <typename PrimitiveDesc, typename Primitive>
  void append(const PrimitiveDesc& desc, const Primitive& primitive,
              std::vector<Binding> bindings) {
    append_with_scratchpad(primitive, desc.scratchpad_desc(), std::move(bindings));
  }

  // Input `index` is a parameter that comes plain and is read as `wanted`: packed unless equal.
  Binding read_weights(int argument, size_t index, const Desc& plain, const Desc& wanted);

  // A result that the primitive makes as `made` and output `index` holds as `plain`. When they
  // differ it is made in the workspace, and deliver() appends the reorder behind the primitive.
  Binding write_result(int argument, size_t index, const Desc& plain, const Desc& made);
  void deliver(const Binding& result, size_t index, const Desc& plain);

  void run(const KernelArgs& args) override;
  size_t workspace_bytes() const override { return workspace_bytes_; }
  std::vector<Packing> packings() const override { return packings_; }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<Place> places;
    std::vector<dnnl::memory> memories;      // same order as places
    std::vector<dnnl_exec_arg_t> arguments;  // of these memories
  };
  void append_with_scratchpad(const dnnl::primitive& primitive, const Desc& scratchpad,
                              std::vector<Binding> bindings);
  Place reserve(size_t bytes);

  std::string subject_;  // "[conv2d] fp32 (..) -> fp32 (..)", for messages
  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<Packing> packings_;
  size_t workspace_bytes_ = 0;
};

// "[conv2d] fp32 (8, 9, 9, 3), fp32 (16, 3, 3, 3) -> fp32 (8, 9, 9, 16)"
std::string describe_request(const Op& op, const KernelRequest& request);

[[noreturn]] void refuse(const Op& op, const KernelRequest& request, const dnnl::error& error);

// Prepares a kernel: body(kernel) appends its primitives, with the team at request.threads. Throws
// Error(device) naming op, shapes and status when oneDNN has no such primitive.
template <typename Body>
std::unique_ptr<Kernel> prepare(const Op& op, const KernelRequest& request, const Body& body) {
  TeamSize team(request.threads);
  try {
    auto kernel = std::make_unique<PrimitiveKernel>(op, request);
    body(*kernel);
    return kernel;
  } catch (const dnnl::error& error) {
    refuse(op, request, error);
  }
}

}  // namespace spire::inline kernels::onednn
