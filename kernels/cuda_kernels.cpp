// Table of the CUDA kernels of all ops, one row an op. The braces tell which tensors may have
// padded rows (PaddedRows).
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/binary/binary.h"
#include "kernels/ops/cached_attention/cached_attention.h"
#include "kernels/ops/cast/cast.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/distillation/distillation.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/embedding/embedding.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"
#include "kernels/ops/exact_gradient/exact_gradient.h"
#include "kernels/ops/exact_match/exact_match.h"
#include "kernels/ops/exact_product/exact_product.h"
#include "kernels/ops/exact_range/exact_range.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/max_pool2d/max_pool2d.h"
#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/ops/recurrent/recurrent.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/ops/swiglu/swiglu.h"
#include "kernels/ops/tower_sum/tower_sum.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire::inline kernels {

namespace {

template <typename SomeOp>
std::unique_ptr<Kernel> cuda_kernel(const Op& op, const KernelRequest& request) {
  return make_cuda(static_cast<const SomeOp&>(op), request);
}

}  // namespace

std::span<const KernelEntry> cuda_kernels() {
  static constexpr KernelEntry table[] = {
      // Activations and other elementwise ops.
      {"relu", cuda_kernel<ActivationOp>},
      {"relu_backward", cuda_kernel<ActivationBackwardOp>},
      {"leaky_relu", cuda_kernel<ActivationOp>},
      {"leaky_relu_backward", cuda_kernel<ActivationBackwardOp>},
      {"gelu", cuda_kernel<ActivationOp>},
      {"gelu_backward", cuda_kernel<ActivationBackwardOp>},
      {"gelu_tanh", cuda_kernel<ActivationOp>},
      {"gelu_tanh_backward", cuda_kernel<ActivationBackwardOp>},
      {"silu", cuda_kernel<ActivationOp>},
      {"silu_backward", cuda_kernel<ActivationBackwardOp>},
      {"sigmoid", cuda_kernel<ActivationOp>},
      {"sigmoid_backward", cuda_kernel<ActivationBackwardOp>},
      {"tanh", cuda_kernel<ActivationOp>},
      {"tanh_backward", cuda_kernel<ActivationBackwardOp>},
      {"affine", cuda_kernel<ActivationOp>},
      {"exp", cuda_kernel<ActivationOp>},
      {"exp_backward", cuda_kernel<ActivationBackwardOp>},
      {"log", cuda_kernel<ActivationOp>},
      {"log_backward", cuda_kernel<ActivationBackwardOp>},
      {"square", cuda_kernel<ActivationOp>},
      {"square_backward", cuda_kernel<ActivationBackwardOp>},
      {"sqrt", cuda_kernel<ActivationOp>},
      {"sqrt_backward", cuda_kernel<ActivationBackwardOp>},
      {"abs", cuda_kernel<ActivationOp>},
      {"abs_backward", cuda_kernel<ActivationBackwardOp>},
      {"add", cuda_kernel<AddOp>},
      {"mul", cuda_kernel<MulOp>},
      {"sub", cuda_kernel<SubOp>},
      {"div", cuda_kernel<DivOp>},
      {"cast", cuda_kernel<CastOp>},
      {"swiglu", cuda_kernel<SwigluOp>},
      {"swiglu_backward", cuda_kernel<SwigluBackwardOp>},
      {"dropout", cuda_kernel<DropoutOp>},
      {"dropout_backward", cuda_kernel<DropoutBackwardOp>},
      // Convolutions and products of matrices.
      {"conv2d", cuda_kernel<Conv2dOp>},
      {"conv2d_backward_data", cuda_kernel<Conv2dBackwardDataOp>},
      {"conv2d_backward_weights", cuda_kernel<Conv2dBackwardWeightsOp>},
      {"conv_transpose2d", cuda_kernel<ConvTranspose2dOp>},
      {"dense", cuda_kernel<DenseOp>, {.output = true}},
      {"dense_backward_data", cuda_kernel<DenseBackwardDataOp>, {.input = 0}},
      {"dense_backward_weights", cuda_kernel<DenseBackwardWeightsOp>, {.input = 1}},
      {"bias", cuda_kernel<BiasOp>},
      {"bias_backward", cuda_kernel<BiasBackwardOp>},
      {"matmul", cuda_kernel<MatmulOp>},
      {"attention", cuda_kernel<AttentionOp>},
      {"attention_backward", cuda_kernel<AttentionBackwardOp>},
      {"cached_attention", cuda_kernel<CachedAttentionOp>},
      {"rope", cuda_kernel<RopeOp>},
      {"lstm", cuda_kernel<RecurrentOp>},
      {"lstm_backward", cuda_kernel<RecurrentBackwardOp>},
      {"gru", cuda_kernel<RecurrentOp>},
      {"gru_backward", cuda_kernel<RecurrentBackwardOp>},
      // Normalization; the sync ops and tower_sum work over all towers.
      {"batch_norm", cuda_kernel<BatchNormOp>},
      {"batch_norm_backward", cuda_kernel<BatchNormBackwardOp>},
      {"batch_norm_eval", cuda_kernel<BatchNormEvalOp>},
      {"batch_norm_eval_backward", cuda_kernel<BatchNormEvalBackwardOp>},
      {"batch_norm_moments", cuda_kernel<BatchNormMomentsOp>},
      {"batch_norm_sync", cuda_kernel<BatchNormSyncOp>},
      {"batch_norm_gradient_sums", cuda_kernel<BatchNormGradientSumsOp>},
      {"batch_norm_sync_backward", cuda_kernel<BatchNormSyncBackwardOp>},
      {"layer_norm", cuda_kernel<LayerNormOp>},
      {"layer_norm_backward", cuda_kernel<LayerNormBackwardOp>},
      {"rms_norm", cuda_kernel<RmsNormOp>},
      {"rms_norm_backward", cuda_kernel<RmsNormBackwardOp>},
      {"group_norm", cuda_kernel<GroupNormOp>},
      {"group_norm_backward", cuda_kernel<GroupNormBackwardOp>},
      {"tower_sum", cuda_kernel<TowerSumOp>},
      // What precision: exact computes.
      {"exact_product", cuda_kernel<ExactProductOp>},
      {"exact_product_backward_data", cuda_kernel<ExactProductBackwardDataOp>},
      {"exact_product_backward_weights", cuda_kernel<ExactProductBackwardWeightsOp>},
      {"exact_range", cuda_kernel<ExactRangeOp>},
      {"exact_gradient", cuda_kernel<ExactGradientOp>},
      {"exact_cross_entropy", cuda_kernel<ExactCrossEntropyOp>},
      {"exact_cross_entropy_backward", cuda_kernel<ExactCrossEntropyBackwardOp>},
      // Pooling and resizing.
      {"max_pool2d", cuda_kernel<MaxPool2dOp>},
      {"max_pool2d_backward", cuda_kernel<MaxPool2dBackwardOp>},
      {"avg_pool2d", cuda_kernel<AvgPool2dOp>},
      {"avg_pool2d_backward", cuda_kernel<AvgPool2dBackwardOp>},
      {"global_avg_pool", cuda_kernel<GlobalAvgPoolOp>},
      {"global_avg_pool_backward", cuda_kernel<GlobalAvgPoolBackwardOp>},
      {"resize", cuda_kernel<ResizeOp>},
      {"resize_backward", cuda_kernel<ResizeBackwardOp>},
      // Ops that move elements.
      {"concat", cuda_kernel<ConcatOp>},
      {"slice", cuda_kernel<SliceOp>},
      {"slice_backward", cuda_kernel<SliceBackwardOp>},
      {"pad_channels", cuda_kernel<PadChannelsOp>},
      {"transpose", cuda_kernel<TransposeOp>},
      {"expand", cuda_kernel<ExpandOp>},
      {"expand_backward", cuda_kernel<ExpandBackwardOp>},
      // Rows by index.
      {"gather", cuda_kernel<GatherOp>},
      {"gather_backward", cuda_kernel<GatherBackwardOp>},
      {"embedding", cuda_kernel<EmbeddingOp>},
      {"embedding_backward", cuda_kernel<EmbeddingBackwardOp>},
      {"exact_match", cuda_kernel<ExactMatchOp>},
      {"one_hot", cuda_kernel<OneHotOp>},
      // Softmax and sums over an axis.
      {"softmax", cuda_kernel<SoftmaxOp>},
      {"softmax_backward", cuda_kernel<SoftmaxBackwardOp>},
      {"log_softmax", cuda_kernel<SoftmaxOp>},
      {"log_softmax_backward", cuda_kernel<SoftmaxBackwardOp>},
      {"sum", cuda_kernel<ReduceOp>},
      {"sum_backward", cuda_kernel<ReduceBackwardOp>},
      {"mean", cuda_kernel<ReduceOp>},
      {"mean_backward", cuda_kernel<ReduceBackwardOp>},
      // Losses.
      {"mean_loss", cuda_kernel<MeanLossOp>},
      {"mean_loss_backward", cuda_kernel<MeanLossBackwardOp>},
      {"softmax_cross_entropy", cuda_kernel<SoftmaxCrossEntropyOp>, {.input = 0}},
      {"softmax_cross_entropy_backward",
       cuda_kernel<SoftmaxCrossEntropyBackwardOp>,
       {.input = 0, .output = true}},
      {"distillation", cuda_kernel<DistillationOp>},
      {"distillation_backward", cuda_kernel<DistillationBackwardOp>},
      {"mse", cuda_kernel<RegressionLossOp>},
      {"mse_backward", cuda_kernel<RegressionLossBackwardOp>},
      {"l1_l2", cuda_kernel<RegressionLossOp>},
      {"l1_l2_backward", cuda_kernel<RegressionLossBackwardOp>},
      {"l1", cuda_kernel<RegressionLossOp>},
      {"l1_backward", cuda_kernel<RegressionLossBackwardOp>},
  };
  return table;
}

}  // namespace spire::inline kernels
