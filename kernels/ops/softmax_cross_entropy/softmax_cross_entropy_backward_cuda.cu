// Backward of softmax cross entropy on a GPU: dx_c = (e^(x_c - logsumexp) - t_c) * scale, one read
// of the logits and one write of dx.
#include "kernels/kernel.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy_cuda.h"

namespace spire {

namespace {

// dx may be the logits: a thread writes only what it alone has read. Zeros fill the padding of dx.
template <int group, int N, typename T>
__global__ void __launch_bounds__(logit_threads)
    softmax_cross_entropy_backward_kernel(LogitRows e, int64_t dx_pitch, const T* logits,
                                          LabelTargets targets,
                                          SoftmaxCrossEntropyAttributes attributes,
                                          SampleWeights of_samples,
                                          const float* __restrict__ logsumexp,
                                          const StepContext* __restrict__ context, T* gradient) {
  int64_t row = logit_row<group>();
  if (row >= e.rows) return;
  const T* x = logits + row * e.pitch;
  T* dx = gradient + row * dx_pitch;
  LabelTarget target = targets.of(row);
  int32_t labels[2];  // -1: none
  float weights[2];
  for (int t = 0; t < 2; ++t) {
    labels[t] = t < target.count ? target.labels[t] : -1;
    weights[t] = (1 - attributes.label_smoothing) * target.weights[t];
  }
  float lse = logsumexp[row], factor = attributes.probability_factor(lse);
  float scale = context->loss_gradient_scale() / static_cast<float>(attributes.rows_per_sample);
  scale *= attributes.weight * static_cast<float>(of_samples.of(row));
  // t_c = weights[t] at the labels, on top of `others` everywhere.
  float others = attributes.label_smoothing / static_cast<float>(e.classes);
  auto differentiate = [&](int64_t c, auto n, auto width, int64_t step) {
    constexpr int W = width();
    float values[n()][W];
    load_floats(x + c, step, values);
    for (int k = 0; k < n(); ++k) {
      for (int i = 0; i < W; ++i) values[k][i] = factor * exponential(values[k][i] - lse);
      for (int t = 0; t < 2; ++t) {
        int64_t at = labels[t] - (c + k * step);
        for (int i = 0; i < W; ++i)
          if (at == i) values[k][i] -= weights[t];
      }
      Pack<T, W> pack;
      // 0 times an infinite logit would not be 0.
      for (int i = 0; i < W; ++i)
        pack.at[i] = T(target.unlabelled ? 0.0f : (values[k][i] - others) * scale);
      store_pack(pack, dx + c + k * step);
    }
  };
  over_classes<group, N, logit_batch<N, 1>>(e.classes, differentiate);
  for (int64_t c = e.classes + threadIdx.x % group; c < dx_pitch; c += group) dx[c] = T(0.0f);
}

}  // namespace

template <>
Kernel make_cuda(const SoftmaxCrossEntropyBackwardOp& op, const KernelRequest& request) {
  LogitRows e = logit_rows(request.inputs[0]);
  size_t bytes = SampleWeights::bytes(op.attributes(), e.rows);
  auto attributes = op.attributes();
  int64_t pitch = request.outputs[0].pitch();
  return cuda_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
    auto of_samples = args.scratch<double>();
    LabelTargets targets(attributes, e.classes, args.inputs, 3);
    weigh_samples(attributes, targets, e.rows, args.stream, of_samples);
    auto launch_rows = [&]<int group, int N>() {
      launch(softmax_cross_entropy_backward_kernel<group, N, T>,
             blocks_for(e.rows, logit_threads / group), logit_threads, args.stream, e, pitch,
             args.in<T>(0), targets, attributes, SampleWeights(attributes, of_samples),
             args.in<float>(2), args.step, args.out<T>(0));
    };
    with_layout<T>(e.classes, launch_rows, e.pitch, pitch);
  });
}

}  // namespace spire
