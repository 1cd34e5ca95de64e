#include <algorithm>

#include <spire/kernels/dropout.h>
#include <spire/kernels/elementwise_cpu.h>
#include <spire/kernels/float_type.h>
#include <spire/kernels/parallel.h>

namespace spire {

namespace {

// Elements drawn at a time: their random numbers stay in registers and the first-level cache.
constexpr int64_t group = 256;

// A function of its own, so that the loop over blocks vectorises: a lane is a block.
void draw_block(const RandomStream& stream, int64_t index, uint32_t* bits) {
  PhiloxBlock block = stream.block(static_cast<uint64_t>(index));
  bits[0] = block[0];
  bits[1] = block[1];
  bits[2] = block[2];
  bits[3] = block[3];
}

// bits[i] = bits of element first + i, for a whole group. first is a multiple of 4.
void draw(const RandomStream& stream, int64_t first, uint32_t* bits) {
#pragma omp simd
  for (int64_t b = 0; b < group / 4; ++b) draw_block(stream, first / 4 + b, bits + 4 * b);
}

template <typename T>
class DropoutKernel : public Kernel {
 public:
  DropoutKernel(float rate, const KernelRequest& request)
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
      draw(stream, first, bits);
      int64_t count = std::min(group, row_size_ - first);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        float value = static_cast<float>(x[first + i]) * scale_;
        values[i] = bits[i] >= threshold_ ? value : 0.0f;
      }
      store_range(values, y + first, count);
    }
  }

  uint32_t threshold_;
  float scale_;
  int64_t rows_, row_size_;
  int threads_;
  int32_t op_id_;
  bool draws_key_;  // the forward op names the numbers, the backward op reads the name
};

std::unique_ptr<Kernel> make(float rate, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    return std::make_unique<DropoutKernel<decltype(type)>>(rate, request);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_dropout_cpu(const Op& op, const KernelRequest& request) {
  return make(static_cast<const DropoutOp&>(op).attributes().rate, request);
}

std::unique_ptr<Kernel> make_dropout_backward_cpu(const Op& op, const KernelRequest& request) {
  return make(static_cast<const DropoutBackwardOp&>(op).attributes().rate, request);
}

}  // namespace spire
