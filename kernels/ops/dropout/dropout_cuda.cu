// Dropout on a GPU, forward and backward alike: y = keep x / (1 - rate). A block takes a part of a
// row. A thread takes runs of elements and draws their random numbers four, a Philox block, at a
// time. Each thread derives the row's stream itself: one more draw for its 32 elements.
#include "kernels/cuda/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/dropout/dropout.h"

namespace spire {

namespace {

constexpr int part = block_threads * 32;  // elements of a row that a block takes

struct Dropout {
  uint32_t threshold;
  float scale;
  int64_t row_size;
  unsigned parts;  // of a row
  int32_t op_id;

  __device__ float operator()(float x, uint32_t bits) const {
    return bits >= threshold ? x * scale : 0.0f;
  }
};

// Draws the bits of elements [i, i + count), both multiples of 4.
template <int count>
__device__ void draw(const RandomStream& stream, int64_t i, uint32_t (&bits)[count]) {
  for (int b = 0; b < count / 4; ++b) {
    PhiloxBlock block = stream.block(static_cast<uint64_t>(i / 4 + b));
    for (int k = 0; k < 4; ++k) bits[4 * b + k] = block[static_cast<size_t>(k)];
  }
}

// N elements a load; 1 where rows do not take packs. The forward writes the key to key_out, the
// backward reads it from key_in; the other is null. y may be x.
template <int N, typename T>
__global__ void __launch_bounds__(block_threads)
    dropout_kernel(Dropout dropout, const StepContext* step, const int32_t* key_in,
                   int32_t* key_out, const T* x, T* y) {
  constexpr int run = N < 4 ? 4 : N;
  if (key_out && blockIdx.x == 0 && threadIdx.x == 0) *key_out = dropout.op_id;
  int32_t key = key_in ? *key_in : dropout.op_id;
  int64_t row = blockIdx.x / dropout.parts, first = blockIdx.x % dropout.parts * int64_t{part};
  int64_t end = first + part < dropout.row_size ? first + part : dropout.row_size;
  int64_t i = first + threadIdx.x * run;
  if (i >= end) return;
  RandomStream stream = dropout_stream(*step, key, row);
  x += row * dropout.row_size;
  y += row * dropout.row_size;
  for (; i < end; i += block_threads * run) {
    uint32_t bits[run];
    draw(stream, i, bits);
    for (int r = 0; r < run; r += N) {
      if (i + r >= end) break;
      auto pack = load_pack<N>(x + i + r);
      for (int k = 0; k < N; ++k)
        pack.at[k] = T(dropout(static_cast<float>(pack.at[k]), bits[r + k]));
      store_pack(pack, y + i + r);
    }
  }
}

// Forward hands its key to backward, which so draws the same bits.
Kernel make_dropout_cuda(float rate, bool backward, const KernelRequest& request) {
  int64_t rows = request.inputs[0].shape[0];
  int64_t size = rows == 0 ? 0 : request.inputs[0].shape.elements() / rows;
  return with_packs(request.inputs[0].dtype, size, [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    Dropout dropout{dropout_threshold(rate), 1 / (1 - rate), size, blocks_for(size, part),
                    request.op_id};
    return [=](const KernelArgs& args) {
      launch(dropout_kernel<N, T>, blocks_for(rows * dropout.parts, 1), block_threads, args.stream,
             dropout, args.step, backward ? args.in<int32_t>(1) : nullptr,
             backward ? nullptr : args.out<int32_t>(1), args.in<T>(0), args.out<T>(0));
    };
  });
}

}  // namespace

template <>
Kernel make_cuda(const DropoutOp& op, const KernelRequest& request) {
  dropout_key(op, request.op_id);
  return make_dropout_cuda(op.attributes().rate, false, request);
}

template <>
Kernel make_cuda(const DropoutBackwardOp& op, const KernelRequest& request) {
  return make_dropout_cuda(op.attributes().rate, true, request);
}

}  // namespace spire
