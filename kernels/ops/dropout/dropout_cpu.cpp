// Dropout on the CPU, forward and backward alike: y = keep x / (1 - rate). A thread takes whole
// rows, each with a random stream of its own, and draws 256 elements at a time.
#include <algorithm>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/dropout/dropout_bits.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// Elements drawn at a time: their random numbers stay in registers and the first-level cache.
constexpr int64_t group = 256;

template <typename T>
class DropoutCpuKernel : public Kernel {
 public:
  DropoutCpuKernel(float rate, const KernelRequest& request)
      : threshold_(dropout_threshold(rate)),
        scale_(1 / (1 - rate)),
        rows_(request.inputs[0].shape[0]),
        row_size_(rows_ == 0 ? 0 : request.inputs[0].shape.elements() / rows_),
        threads_(request.threads),
        op_id_(request.op_id),
        draws_key_(request.outputs.size() == 2) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto y = static_cast<T*>(args.outputs[0]);
    // Forward hands its key to backward, which so draws the same bits.
    int32_t key = op_id_;
    if (draws_key_) {
      *static_cast<int32_t*>(args.outputs[1]) = key;
    } else {
      key = *static_cast<const int32_t*>(args.inputs[1]);
    }
    parallel_for(threads_, rows_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        drop(dropout_stream(*args.step, key, row), x + row * row_size_, y + row * row_size_);
      }
    });
  }

 private:
  void drop(const RandomStream& stream, const T* x, T* y) const {
    alignas(64) uint32_t bits[group];
    alignas(64) float values[group];
    for (int64_t first = 0; first < row_size_; first += group) {
      draw_bits<group>(stream, first, bits);  // also behind the row's end, where they are not read
      int64_t count = std::min(group, row_size_ - first);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        float value = static_cast<float>(x[first + i]) * scale_;
        values[i] = bits[i] >= threshold_ ? value : 0.0f;
      }
      copy_range(values, y + first, count);
    }
  }

  uint32_t threshold_;
  float scale_;
  int64_t rows_, row_size_;
  int threads_;
  int32_t op_id_;
  bool draws_key_;  // forward: writes the key; backward: reads it
};

std::unique_ptr<Kernel> make(float rate, const KernelRequest& request) {
  return make_typed<DropoutCpuKernel>(request.inputs[0].dtype, rate, request);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const DropoutOp& op, const KernelRequest& request) {
  return make(op.attributes().rate, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const DropoutBackwardOp& op, const KernelRequest& request) {
  return make(op.attributes().rate, request);
}

}  // namespace spire::inline kernels
