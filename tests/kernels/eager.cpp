#include <algorithm>
#include <cstring>
#include <new>

#include <tests/kernels/eager.h>

#include <spire/packing.h>

#include "engine/base/fail.h"
#include "kernels/cuda/libraries.h"

namespace spire::testing {

namespace {

// Rounds float64 to T; to a 16-bit type through fp32, as kernels do.
template <typename T>
void store_as(const HostTensor& host, void* memory) {
  T* out = static_cast<T*>(memory);
  for (int64_t i = 0; i < host.size(); ++i) {
    if constexpr (sizeof(T) == 2) {
      out[i] = static_cast<float>(host[i]);
    } else {
      out[i] = static_cast<T>(host[i]);
    }
  }
}

template <typename T>
void load_as(const void* memory, HostTensor& host) {
  const T* in = static_cast<const T*>(memory);
  for (int64_t i = 0; i < host.size(); ++i) host[i] = static_cast<double>(in[i]);
}

// Calls visit(T{}) with the C++ type of `dtype`.
template <typename Visit>
void with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float{});
    case DType::bf16:
      return visit(bfloat16{});
    case DType::f64:
      return visit(double{});
    case DType::i32:
      return visit(int32_t{});
    case DType::u8:
      return visit(uint8_t{});
    case DType::f16:
      return visit(float16{});
  }
  fail(Category::unexpected, "unknown dtype");
}

constexpr size_t max_aligned = 2 * workspace_alignment;

// Host memory of exact size, so that AddressSanitizer sees an access behind it.
class ExactMemory : public DeviceMemory {
 public:
  explicit ExactMemory(size_t bytes)
      : DeviceMemory(bytes),
        memory_(::operator new (std::max<size_t>(bytes, 1), std::align_val_t{max_aligned})) {}

  bool on_host() const override { return true; }
  void* data() const override { return memory_.get(); }
  void write(const void* host, size_t bytes, size_t offset) override {
    std::copy_n(static_cast<const std::byte*>(host), bytes, as<std::byte>() + offset);
  }
  void read(void* host, size_t bytes, size_t offset) const override {
    std::copy_n(as<std::byte>() + offset, bytes, static_cast<std::byte*>(host));
  }

 private:
  struct Free {
    void operator()(void* p) const { ::operator delete (p, std::align_val_t{max_aligned}); }
  };
  std::unique_ptr<void, Free> memory_;
};

std::unique_ptr<DeviceMemory> exact_memory(DeviceId device, size_t bytes) {
  if (device.kind == DeviceKind::cpu) return std::make_unique<ExactMemory>(bytes);
  return allocate_memory(device, bytes);
}

// The last bytes of a block, aligned to `alignment` and to no more, as tensors in an arena are.
class TailMemory : public DeviceMemory {
 public:
  TailMemory(DeviceId device, size_t bytes, size_t alignment)
      : DeviceMemory(bytes), block_(exact_memory(device, bytes)) {
    if (reinterpret_cast<uintptr_t>(block_->data()) % (2 * alignment) != 0) return;
    before_ = alignment;
    block_ = exact_memory(device, before_ + bytes);
    std::vector<std::byte> before(before_, std::byte{0xff});
    block_->write(before.data(), before.size());
  }

  bool on_host() const override { return block_->on_host(); }
  void* data() const override { return block_->as<std::byte>() + before_; }
  void write(const void* host, size_t bytes, size_t offset) override {
    block_->write(host, bytes, before_ + offset);
  }
  void read(void* host, size_t bytes, size_t offset) const override {
    block_->read(host, bytes, before_ + offset);
  }

 private:
  std::unique_ptr<DeviceMemory> block_;
  size_t before_ = 0;
};

}  // namespace

std::shared_ptr<DeviceMemory> garbage(DeviceId device, size_t bytes, size_t alignment) {
  auto memory = std::make_shared<TailMemory>(device, bytes, alignment);
  std::vector<std::byte> ones(bytes, std::byte{0xff});
  memory->write(ones.data(), bytes, 0);
  return memory;
}

std::vector<std::byte> bytes_of(const DeviceTensor& tensor) {
  std::vector<std::byte> bytes(tensor.memory->bytes());
  tensor.memory->read(bytes.data(), bytes.size());
  return bytes;
}

DType dtype_of(Role role, const Environment& environment) {
  switch (role) {
    case Role::activation:
      return environment.dtype;
    case Role::sums:
      return DType::f64;
    case Role::labels:
      return DType::i32;
    default:
      return DType::f32;
  }
}

namespace {

TensorSpec with_pitch(TensorSpec spec, int64_t row_pitch) {
  spec.row_pitch = row_pitch;
  return spec;
}

// Returns the bytes of the tensor with padded rows, zeros between them.
std::vector<std::byte> laid_out(const DeviceTensor& tensor, int64_t row_pitch) {
  auto from = bytes_of(tensor);
  if (tensor.spec.row_pitch == row_pitch) return from;
  TensorSpec spec = with_pitch(tensor.spec, row_pitch);
  std::vector<std::byte> to(spec.bytes());
  size_t element = size_of(spec.dtype), row = static_cast<size_t>(spec.shape.back()) * element;
  auto from_pitch = static_cast<size_t>(tensor.spec.pitch()) * element;
  auto to_pitch = static_cast<size_t>(spec.pitch()) * element;
  for (size_t r = 0; r * to_pitch < to.size(); ++r)
    std::memcpy(to.data() + r * to_pitch, from.data() + r * from_pitch, row);
  return to;
}

// Returns a pitch above the length of a row, in whole packs of any float type.
int64_t pitch_for(const TensorSpec& spec) {
  return (spec.shape.back() / 8 + 2) * 8;
}

// Moves a tensor to memory with padded rows, or back to rows without padding.
DeviceTensor lay_out(const DeviceTensor& tensor, bool padded, DeviceId device) {
  int64_t row_pitch = padded ? pitch_for(tensor.spec) : 0;
  if (tensor.spec.row_pitch == row_pitch) return tensor;
  TensorSpec spec = with_pitch(tensor.spec, row_pitch);
  DeviceTensor moved{spec, tensor.is_parameter, garbage(device, spec.bytes())};
  auto bytes = laid_out(tensor, row_pitch);
  moved.memory->write(bytes.data(), bytes.size());
  return moved;
}

void expect_zeros_in_padding(const Op& op, const DeviceTensor& tensor) {
  if (tensor.spec.row_pitch == 0) return;
  DeviceTensor plain = lay_out(tensor, false, {});
  EXPECT_TRUE(bytes_of(tensor) == laid_out(plain, tensor.spec.row_pitch))
      << "[" << op.name() << "] its rows do not end in zeros";
}

}  // namespace

DeviceTensor upload(const HostTensor& host, DType dtype, bool is_parameter, DeviceId device) {
  TensorSpec spec{host.shape, dtype};
  require(spec.shape.elements() == host.size(), "a host tensor does not fill its shape");
  DeviceTensor tensor{spec, is_parameter, garbage(device, spec.bytes())};
  std::vector<std::byte> bytes(spec.bytes());
  with_type(dtype, [&](auto type) { store_as<decltype(type)>(host, bytes.data()); });
  tensor.memory->write(bytes.data(), bytes.size());
  return tensor;
}

HostTensor download(const DeviceTensor& tensor) {
  HostTensor host = zeros(tensor.spec.shape);
  auto bytes = laid_out(tensor, 0);
  with_type(tensor.spec.dtype, [&](auto type) { load_as<decltype(type)>(bytes.data(), host); });
  return host;
}

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::f64:
      return 0x1p-53;
    default:
      return 0;
  }
}

// Opened once, as that takes as long as many tests; all environments share one GPU.
static CudaLibraries* libraries_of(const Environment& environment) {
  if (environment.device.kind == DeviceKind::cpu) return nullptr;
  // Never destroyed, as CUDA is gone before static objects are.
  static auto* opened = new std::map<AttentionBy, std::unique_ptr<CudaLibraries>>;
  auto& libraries = (*opened)[environment.attention];
  if (libraries) return libraries.get();
  CudaLibraries::Options options;
  options.cudnn_attention = environment.attention != AttentionBy::own;
  // Enough for the backward of one head of 128 positions.
  if (environment.attention == AttentionBy::cudnn_head_by_head) options.attention_workspace = 99000;
  libraries = open_cuda_libraries(environment.device, options);
  return libraries.get();
}

std::vector<DeviceTensor> execute(const Op& op, std::span<const DeviceTensor> given,
                                  const Environment& environment, const StepContext& step,
                                  bool in_place) {
  std::vector<TensorSpec> input_specs;
  for (const DeviceTensor& input : given) input_specs.push_back(with_pitch(input.spec, 0));
  std::vector<TensorSpec> output_specs = op.infer(input_specs);
  // A view runs no kernel: its output is the input's memory.
  if (op.is_view()) return {{output_specs.at(0), false, given[0].memory}};

  PaddedRows padded;
  if (environment.padded_rows) padded = padded_rows(op, environment.device);
  std::vector<DeviceTensor> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    inputs.push_back(lay_out(given[i], static_cast<int>(i) == padded.input, environment.device));
    input_specs[i] = inputs[i].spec;
  }
  if (padded.output) output_specs[0].row_pitch = pitch_for(output_specs[0]);
  auto kernel = make_kernel(op, {.inputs = input_specs,
                                 .outputs = output_specs,
                                 .device = environment.device,
                                 .threads = environment.threads,
                                 .op_id = environment.op_id,
                                 .cuda = libraries_of(environment)});
  auto fresh_outputs = [&] {
    std::vector<DeviceTensor> fresh;
    for (const TensorSpec& spec : output_specs)
      fresh.push_back({spec, false, garbage(environment.device, spec.bytes())});
    return fresh;
  };
  auto outputs = fresh_outputs();
  std::vector<const void*> in;
  for (const DeviceTensor& input : inputs) in.push_back(input.memory->data());

  // A kernel reads its parameters in the packed forms that it asks for.
  std::vector<std::shared_ptr<DeviceMemory>> packed;
  for (const Packing& packing : kernel.packings()) {
    size_t index = static_cast<size_t>(packing.input);
    require(inputs[index].is_parameter, "[{}] packs input {}, which is no parameter", op.name(),
            packing.input);
    packed.push_back(garbage(environment.device, packing.bytes));
    packing.pack(static_cast<const float*>(inputs[index].memory->data()), packed.back()->data());
    in[index] = packed.back()->data();
  }
  auto workspace = garbage(environment.device, kernel.workspace_bytes(), workspace_alignment);
  // GPU kernels read the step's numbers from the device's memory.
  auto numbers = garbage(environment.device, sizeof step);
  numbers->write(&step, sizeof step);
  auto run = [&] {
    std::vector<void*> out;
    for (const DeviceTensor& output : outputs) out.push_back(output.memory->data());
    kernel.run({.inputs = in,
                .outputs = out,
                .workspace = workspace->data(),
                .step = static_cast<const StepContext*>(numbers->data())});
  };
  run();
  for (const DeviceTensor& output : outputs) expect_zeros_in_padding(op, output);

  auto apart = outputs;
  for (size_t i = 0; in_place && i < inputs.size(); ++i) {
    if (!op.may_overwrite(static_cast<int>(i)) || inputs[i].is_parameter ||
        inputs[i].spec.bytes() != output_specs[0].bytes())
      continue;
    const void* before = in[i];
    outputs = fresh_outputs();
    auto bytes = bytes_of(inputs[i]);
    outputs[0].memory->write(bytes.data(), bytes.size());
    in[i] = outputs[0].memory->data();
    run();
    in[i] = before;
    for (size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_TRUE(bytes_of(outputs[k]) == bytes_of(apart[k]))
          << "[" << op.name() << "] output " << k << " differs where it overwrites input " << i;
    }
  }
  return apart;
}

EagerBuilder::EagerBuilder(std::vector<DeviceTensor> inputs, std::vector<bool> wants,
                           std::vector<DeviceTensor> outputs,
                           std::map<int, DeviceTensor> output_gradients,
                           const Environment& environment, const StepContext& step)
    : environment_(environment), step_(step), wants_(std::move(wants)) {
  for (DeviceTensor& input : inputs) inputs_.push_back(add(std::move(input)));
  for (DeviceTensor& output : outputs) outputs_.push_back(add(std::move(output)));
  for (auto& [index, gradient] : output_gradients) {
    output_gradients_[index] = add(std::move(gradient));
  }
}

Value EagerBuilder::add(DeviceTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return Value{static_cast<int>(tensors_.size()) - 1};
}

Value EagerBuilder::output_gradient(int index) const {
  auto found = output_gradients_.find(index);
  return found == output_gradients_.end() ? Value{} : found->second;
}

std::vector<Value> EagerBuilder::emit(std::unique_ptr<Op> op, std::vector<Value> inputs) {
  std::vector<DeviceTensor> operands;
  for (Value value : inputs) operands.push_back(tensor(value));
  ++environment_.op_id;  // as in a graph, no two ops have one id
  std::vector<Value> results;
  for (DeviceTensor& output : execute(*op, operands, environment_, step_, true)) {
    results.push_back(add(std::move(output)));
  }
  return results;
}

// A gradient has its tensor's shape; a parameter's is f32, an activation's has its dtype.
void EagerBuilder::set_gradient(int input_index, Value gradient) {
  EXPECT_TRUE(wants_gradient(input_index)) << "gradient set for input " << input_index;
  EXPECT_EQ(to_string(spec(gradient)), to_string(spec(input(input_index))));
  EXPECT_TRUE(gradients_.emplace(input_index, gradient).second) << "gradient set twice";
}

const DeviceTensor* EagerBuilder::gradient(int input_index) const {
  auto found = gradients_.find(input_index);
  return found == gradients_.end() ? nullptr : &tensor(found->second);
}

}  // namespace spire::testing
