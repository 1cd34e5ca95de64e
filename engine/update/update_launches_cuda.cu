#include "engine/device/cuda_kernel.h"
#include "engine/update/update_kernels_cuda.h"
#include "engine/update/update_launches.h"

namespace spire {
namespace {

// Computes the step's factors with one block. skipped: the skipped steps that the host knows of.
__global__ void __launch_bounds__(factor_threads)
    step_factors_kernel(const double* squares, int64_t count, GradientScale scale, int64_t skipped,
                        StepFactors* factors) {
  double sum = sum_of_squares<factor_threads>(squares, count);
  if (threadIdx.x > 0) return;
  factors->gradient = scale.factor(sum);
  factors->unseen = scale.loss_scale ? static_cast<int>(scale.loss_scale->skipped - skipped) : 0;
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
        for (int unseen = 0; unseen <= max_unseen; ++unseen) {
          formulas.optimizer[unseen] = std::get<F>(rules.optimizer[unseen]);
          formulas.ema[unseen] = rules.ema[unseen];
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
