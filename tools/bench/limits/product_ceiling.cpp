// The speed of Spire's own matrix products on all devices at once.
#include <algorithm>

#include <spire/packing.h>
#include <spire/random_stream.h>

#include "kernels/kernel.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/matmul/matmul.h"
#include "tools/bench/limits/ceilings.h"

namespace spire {
namespace {

template <typename T>
std::vector<T> random_values(size_t count) {
  RandomStream random(0, Purpose::synthetic);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = random.uniform(i) - 0.5f;
  return values;
}

// Writes a period of random values again and again: zeros would take less power, and so less time.
template <typename T>
void fill_with(DeviceMemory& memory) {
  constexpr size_t period = 65536;
  std::vector<T> values = random_values<T>(std::min(period, memory.bytes() / sizeof(T)));
  size_t bytes = values.size() * sizeof(T);
  for (size_t at = 0; at < memory.bytes(); at += bytes)
    memory.write(values.data(), std::min(bytes, memory.bytes() - at), at);
}

void fill(DeviceMemory& memory, DType dtype) {
  if (dtype == DType::bf16) return fill_with<bfloat16>(memory);
  if (dtype == DType::f16) return fill_with<float16>(memory);
  fill_with<float>(memory);
}

// One product on one device: the op's kernel and its tensors. Made and run on the device's lane.
class Product {
 public:
  Product(DeviceTeam& team, int lane, const Op& op, const std::vector<TensorSpec>& inputs)
      : stream_(team.stream(lane).native()) {
    std::vector<TensorSpec> outputs = op.infer(inputs);
    kernel_ = make_kernel(op, {.inputs = inputs,
                               .outputs = outputs,
                               .device = team.device(lane),
                               .cuda = team.libraries(lane)});
    MemoryPool& pool = team.pool(lane);
    for (const TensorSpec& spec : inputs) {
      memory_.push_back(pool.allocate(MemoryKind::activations, spec.bytes()));
      fill(*memory_.back(), spec.dtype);
      inputs_.push_back(memory_.back()->data());
    }
    for (const Packing& packing : kernel_.packings()) pack(pool, packing);
    memory_.push_back(pool.allocate(MemoryKind::activations, outputs[0].bytes()));
    output_ = memory_.back()->data();
    if (kernel_.workspace_bytes() == 0) return;
    memory_.push_back(pool.allocate(MemoryKind::workspace, kernel_.workspace_bytes()));
    workspace_ = memory_.back()->data();
  }

  void run() {
    kernel_.run(
        {.inputs = inputs_, .outputs = {&output_, 1}, .workspace = workspace_, .stream = stream_});
  }

 private:
  void pack(MemoryPool& pool, const Packing& packing) {
    memory_.push_back(pool.allocate(MemoryKind::weights, packing.bytes));
    const void*& input = inputs_[static_cast<size_t>(packing.input)];
    packing.pack(static_cast<const float*>(input), memory_.back()->data(), stream_);
    input = memory_.back()->data();
  }

  void* stream_;
  Kernel kernel_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<const void*> inputs_;
  void* output_ = nullptr;
  void* workspace_ = nullptr;
};

double flops_per_s(DeviceTeam& team, const Op& op, const std::vector<TensorSpec>& inputs,
                   const Repeats& repeats) {
  std::vector<std::unique_ptr<Product>> products(static_cast<size_t>(team.size()));
  team.run([&](int lane) {
    products[static_cast<size_t>(lane)] = std::make_unique<Product>(team, lane, op, inputs);
  });
  double seconds =
      team.best_seconds(repeats, [&](int lane) { products[static_cast<size_t>(lane)]->run(); });
  auto multiply_adds = static_cast<double>(op.multiply_adds(inputs, op.infer(inputs)));
  return 2 * multiply_adds * team.size() / seconds;
}

}  // namespace

// A dense layer reads weights that are packed beforehand, a product of activations packs by itself.
double product_flops_per_s(DeviceTeam& team, DType dtype, const CeilingOptions& options) {
  double best = 0;
  for (const auto& [rows, columns, depth] : options.products) {
    TensorSpec x{{rows, depth}, dtype};
    best = std::max(best, flops_per_s(team, DenseOp(DenseAttributes{}),
                                      {x, {{columns, depth}, DType::f32}}, options.repeats));
    best = std::max(best, flops_per_s(team, MatmulOp(MatmulAttributes{}),
                                      {x, {{depth, columns}, dtype}}, options.repeats));
  }
  return best;
}

}  // namespace spire
