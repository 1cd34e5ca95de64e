// CUDA kernels of the parameter update, with the CPU's formulas. One block computes one piece or
// span in a fixed order, so results do not depend on which device owns it.
#include "engine/device/cuda_kernel.h"
#include "engine/update/formulas.h"
#include "engine/update/update_launches.h"

namespace spire {
namespace {

constexpr int update_threads = 256;
constexpr int factor_threads = 1024;
using UpdatePack = Pack<float, update_width>;

// Adds up the sums of squares of a gradient's chunks with one block; thread 0 gets the result.
template <int threads>
__device__ inline double sum_of_squares(const double* squares, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += threads) sum += squares[i];
  return block_reduce<threads>(sum, Sum{});
}

// A step's formulas, one per possible value of `unreported_skips`, which only the device knows.
// Kernels take it as a __grid_constant__: a thread that indexes a plain argument copies it to local
// memory.
template <typename Formula>
struct StepFormulas {
  Formula optimizer[max_unreported_skips + 1];
  EmaFormula ema[max_unreported_skips + 1];
};

__device__ inline SliceFactors factors_of(const UpdateBuffers& buffers, const UpdatePiece& piece) {
  return {.gradient = buffers.factors->gradient,
          .decay = piece.decay,
          .lr = piece.lr,
          .trust = piece.adapts && buffers.trust ? buffers.trust[piece.span] : 1.0f};
}

// Four adjacent weights of a piece, with gradients and slots: one load of 16 bytes each.
template <int slot_count>
struct WeightPack {
  UpdatePack gradients, weights, slots[slot_count + 1];  // one more, as arrays may not be empty

  __device__ WeightPack(const UpdateBuffers& buffers, const UpdatePiece& piece, int64_t i) {
    gradients = load_pack<update_width>(buffers.sums + piece.begin + i);
    weights = load_pack<update_width>(buffers.weights + piece.begin + i);
    for (int s = 0; s < slot_count; ++s)
      slots[s] = load_pack<update_width>(buffers.slots[s] + piece.state + i);
  }
  __device__ void store_slots(const UpdateBuffers& buffers, const UpdatePiece& piece,
                              int64_t i) const {
    for (int s = 0; s < slot_count; ++s) store_pack(slots[s], buffers.slots[s] + piece.state + i);
  }
  // Calls call(gradient, weight, slot...) with the values of weight j.
  template <typename Call>
  __device__ auto with(int j, const Call& call) {
    if constexpr (slot_count == 0) {
      return call(gradients.at[j], weights.at[j]);
    } else if constexpr (slot_count == 1) {
      return call(gradients.at[j], weights.at[j], slots[0].at[j]);
    } else {
      static_assert(slot_count == 2);
      return call(gradients.at[j], weights.at[j], slots[0].at[j], slots[1].at[j]);
    }
  }
};

// Calls body(i) for each pack that this thread takes; i: index of its first float in the piece.
template <typename Body>
__device__ inline void for_packs(const UpdatePiece& piece, const Body& body) {
  for (int64_t i = threadIdx.x * update_width; i < piece.count; i += update_threads * update_width)
    body(i);
}

__device__ inline void update_statistic(const UpdateBuffers& buffers, const StatisticPiece& piece) {
  for (int64_t i = threadIdx.x; i < piece.count; i += update_threads)
    piece.update(buffers.sums[piece.begin + i], buffers.weights[piece.begin + i]);
}

// Updates weights and their average, or a running statistic. One block per piece.
template <typename Formula>
__global__ void __launch_bounds__(update_threads)
    update_kernel(UpdateBuffers buffers, const __grid_constant__ StepFormulas<Formula> formulas) {
  if (buffers.factors->gradient < 0) return;
  if (blockIdx.x >= buffers.piece_count) {
    update_statistic(buffers, buffers.statistics[blockIdx.x - buffers.piece_count]);
    return;
  }
  const UpdatePiece piece = buffers.pieces[blockIdx.x];
  const SliceFactors at = factors_of(buffers, piece);
  const Formula formula = formulas.optimizer[buffers.factors->unreported_skips];
  const EmaFormula ema = formulas.ema[buffers.factors->unreported_skips];
  for_packs(piece, [&](int64_t i) {
    WeightPack<static_cast<int>(Formula::slots.size())> pack(buffers, piece, i);
    for (int j = 0; j < update_width; ++j) {
      pack.with(j, [&](float g, float& w, auto&... slot) { formula.update(at, g, w, slot...); });
    }
    store_pack(pack.weights, buffers.weights + piece.begin + i);
    pack.store_slots(buffers, piece, i);
    if (!buffers.average) return;
    auto average = load_pack<update_width>(buffers.average + piece.state + i);
    for (int j = 0; j < update_width; ++j) ema.update(pack.weights.at[j], average.at[j]);
    store_pack(average, buffers.average + piece.state + i);
  });
}

// Writes the sums of squares of a piece's weights and of their update to the piece's cell of norms.
template <typename Formula>
__global__ void __launch_bounds__(update_threads)
    measure_kernel(UpdateBuffers buffers, const __grid_constant__ StepFormulas<Formula> formulas) {
  if (buffers.factors->gradient < 0) return;
  const UpdatePiece piece = buffers.pieces[blockIdx.x];
  const Formula formula = formulas.optimizer[buffers.factors->unreported_skips];
  const SliceFactors at = factors_of(buffers, piece);
  double weights = 0, updates = 0;
  for_packs(piece, [&](int64_t i) {
    WeightPack<static_cast<int>(Formula::slots.size())> pack(buffers, piece, i);
    for (int j = 0; j < update_width; ++j) {
      double update = pack.with(j, [&](float g, float& w, auto&... slot) {
        formula.prepare(at, g, w, slot...);
        return formula.measured(at, g, w, slot...);
      });
      weights += double{pack.weights.at[j]} * pack.weights.at[j];
      updates += update * update;
    }
    pack.store_slots(buffers, piece, i);
  });
  weights = block_reduce<update_threads>(weights, Sum{});
  updates = block_reduce<update_threads>(updates, Sum{});
  if (!piece.adapts || threadIdx.x > 0) return;
  buffers.norms[2 * piece.cell] = weights;
  buffers.norms[2 * piece.cell + 1] = updates;
}

// Computes trust[span] from the norms in the cells of each of `spans`. One block per span.
template <typename Formula>
__global__ void __launch_bounds__(update_threads)
    trust_kernel(const TrustSpan* spans, UpdateBuffers buffers,
                 const __grid_constant__ StepFormulas<Formula> formulas, float* trust) {
  const TrustSpan span = spans[blockIdx.x];
  TrustSquares tensor;
  for (size_t cell = span.first_cell + threadIdx.x; cell < span.end_cell; cell += update_threads) {
    tensor.weights += buffers.norms[2 * cell];
    tensor.update += buffers.norms[2 * cell + 1];
  }
  tensor.weights = block_reduce<update_threads>(tensor.weights, Sum{});
  tensor.update = block_reduce<update_threads>(tensor.update, Sum{});
  if (threadIdx.x > 0) return;
  const Formula& formula = formulas.optimizer[buffers.factors->unreported_skips];
  trust[span.span] = formula.trust_ratio(tensor, span.decay);
}

// Computes the step's factors with one block. skipped: the skipped steps that the host knows of.
__global__ void __launch_bounds__(factor_threads)
    step_factors_kernel(const double* squares, int64_t count, GradientScale scale, int64_t skipped,
                        StepFactors* factors) {
  double sum = sum_of_squares<factor_threads>(squares, count);
  if (threadIdx.x > 0) return;
  factors->gradient = scale.factor(sum);
  factors->unreported_skips =
      scale.loss_scale ? static_cast<int>(scale.loss_scale->skipped - skipped) : 0;
}

// Counts the step in the loss scale's state, with one block.
__global__ void __launch_bounds__(factor_threads)
    follow_kernel(const double* squares, int64_t count, double minimum, int64_t growth_interval,
                  LossScaleState* state) {
  double sum = sum_of_squares<factor_threads>(squares, count);
  if (threadIdx.x == 0)
    state->record(GradientScale{0, state}.factor(sum) < 0, minimum, growth_interval);
}

// average = weights.
__global__ void __launch_bounds__(update_threads) begin_average_kernel(UpdateBuffers buffers) {
  const UpdatePiece piece = buffers.pieces[blockIdx.x];
  for_packs(piece, [&](int64_t i) {
    store_pack(load_pack<update_width>(buffers.weights + piece.begin + i),
               buffers.average + piece.state + i);
  });
}

__global__ void __launch_bounds__(update_threads) swap_average_kernel(UpdateBuffers buffers) {
  const UpdatePiece piece = buffers.pieces[blockIdx.x];
  for_packs(piece, [&](int64_t i) {
    auto weights = load_pack<update_width>(buffers.weights + piece.begin + i);
    store_pack(load_pack<update_width>(buffers.average + piece.state + i),
               buffers.weights + piece.begin + i);
    store_pack(weights, buffers.average + piece.state + i);
  });
}

// body(formulas) with those of the rules' kind.
template <typename Body>
void with_formulas(const StepRules& rules, const Body& body) {
  std::visit(
      [&]<typename F>(const F&) {
        StepFormulas<F> formulas;
        for (int unreported_skips = 0; unreported_skips <= max_unreported_skips;
             ++unreported_skips) {
          formulas.optimizer[unreported_skips] = std::get<F>(rules.optimizer[unreported_skips]);
          formulas.ema[unreported_skips] = rules.ema[unreported_skips];
        }
        body(formulas);
      },
      rules.optimizer[0]);
}

template <typename... Parameters, typename... Arguments>
void launch_blocks(void (*kernel)(Parameters...), unsigned blocks, void* stream,
                   Arguments&&... arguments) {
  if (blocks > 0) launch(kernel, blocks, update_threads, stream, arguments...);
}

}  // namespace

void launch_step_factors(void* stream, std::span<const double> squares, const GradientScale& scale,
                         int64_t skipped, StepFactors* factors) {
  launch(step_factors_kernel, 1, factor_threads, stream, squares.data(),
         static_cast<int64_t>(squares.size()), scale, skipped, factors);
}

void launch_follow(void* stream, std::span<const double> squares, double minimum,
                   int64_t growth_interval, LossScaleState* state) {
  launch(follow_kernel, 1, factor_threads, stream, squares.data(),
         static_cast<int64_t>(squares.size()), minimum, growth_interval, state);
}

void launch_begin_average(void* stream, const UpdateBuffers& buffers) {
  launch_blocks(begin_average_kernel, buffers.piece_count, stream, buffers);
}

void launch_swap_average(void* stream, const UpdateBuffers& buffers) {
  launch_blocks(swap_average_kernel, buffers.piece_count, stream, buffers);
}

void launch_measure(void* stream, const UpdateBuffers& buffers, const StepRules& rules) {
  with_formulas(rules, [&]<typename F>(const StepFormulas<F>& formulas) {
    if constexpr (has_trust_ratio<F>)
      launch_blocks(measure_kernel<F>, buffers.piece_count, stream, buffers, formulas);
  });
}

void launch_trust(void* stream, const TrustSpan* spans, size_t count, const UpdateBuffers& buffers,
                  const StepRules& rules, float* trust) {
  with_formulas(rules, [&]<typename F>(const StepFormulas<F>& formulas) {
    if constexpr (has_trust_ratio<F>)
      launch_blocks(trust_kernel<F>, static_cast<unsigned>(count), stream, spans, buffers, formulas,
                    trust);
  });
}

void launch_update(void* stream, const UpdateBuffers& buffers, const StepRules& rules) {
  with_formulas(rules, [&]<typename F>(const StepFormulas<F>& formulas) {
    launch_blocks(update_kernel<F>, buffers.piece_count + buffers.statistic_count, stream, buffers,
                  formulas);
  });
}

}  // namespace spire
