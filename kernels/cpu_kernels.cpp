// Table of the CPU kernels of all ops, one row an op.
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
std::unique_ptr<Kernel> cpu_kernel(const Op& op, const KernelRequest& request) {
  return make_cpu(static_cast<const SomeOp&>(op), request);
}

}  // namespace

std::span<const KernelEntry> cpu_kernels() {
  static constexpr KernelEntry table[] = {
      // Activations and other elementwise ops.
      {"relu", cpu_kernel<ActivationOp>},
      {"relu_backward", cpu_kernel<ActivationBackwardOp>},
      {"leaky_relu", cpu_kernel<ActivationOp>},
      {"leaky_relu_backward", cpu_kernel<ActivationBackwardOp>},
      {"gelu", cpu_kernel<ActivationOp>},
      {"gelu_backward", cpu_kernel<ActivationBackwardOp>},
      {"gelu_tanh", cpu_kernel<ActivationOp>},
      {"gelu_tanh_backward", cpu_kernel<ActivationBackwardOp>},
      {"silu", cpu_kernel<ActivationOp>},
      {"silu_backward", cpu_kernel<ActivationBackwardOp>},
      {"sigmoid", cpu_kernel<ActivationOp>},
      {"sigmoid_backward", cpu_kernel<ActivationBackwardOp>},
      {"tanh", cpu_kernel<ActivationOp>},
      {"tanh_backward", cpu_kernel<ActivationBackwardOp>},
      {"affine", cpu_kernel<ActivationOp>},
      {"exp", cpu_kernel<ActivationOp>},
      {"exp_backward", cpu_kernel<ActivationBackwardOp>},
      {"log", cpu_kernel<ActivationOp>},
      {"log_backward", cpu_kernel<ActivationBackwardOp>},
      {"square", cpu_kernel<ActivationOp>},
      {"square_backward", cpu_kernel<ActivationBackwardOp>},
      {"sqrt", cpu_kernel<ActivationOp>},
      {"sqrt_backward", cpu_kernel<ActivationBackwardOp>},
      {"abs", cpu_kernel<ActivationOp>},
      {"abs_backward", cpu_kernel<ActivationBackwardOp>},
      {"add", cpu_kernel<AddOp>},
      {"mul", cpu_kernel<MulOp>},
      {"sub", cpu_kernel<SubOp>},
      {"div", cpu_kernel<DivOp>},
      {"cast", cpu_kernel<CastOp>},
      {"swiglu", cpu_kernel<SwigluOp>},
      {"swiglu_backward", cpu_kernel<SwigluBackwardOp>},
      {"dropout", cpu_kernel<DropoutOp>},
      {"dropout_backward", cpu_kernel<DropoutBackwardOp>},
      // Convolutions and products of matrices.
      {"conv2d", cpu_kernel<Conv2dOp>},
      {"conv2d_backward_data", cpu_kernel<Conv2dBackwardDataOp>},
      {"conv2d_backward_weights", cpu_kernel<Conv2dBackwardWeightsOp>},
      {"conv_transpose2d", cpu_kernel<ConvTranspose2dOp>},
      {"dense", cpu_kernel<DenseOp>},
      {"dense_backward_data", cpu_kernel<DenseBackwardDataOp>},
      {"dense_backward_weights", cpu_kernel<DenseBackwardWeightsOp>},
      {"bias", cpu_kernel<BiasOp>},
      {"bias_backward", cpu_kernel<BiasBackwardOp>},
      {"matmul", cpu_kernel<MatmulOp>},
      {"attention", cpu_kernel<AttentionOp>},
      {"attention_backward", cpu_kernel<AttentionBackwardOp>},
      {"cached_attention", cpu_kernel<CachedAttentionOp>},
      {"rope", cpu_kernel<RopeOp>},
      {"lstm", cpu_kernel<RecurrentOp>},
      {"lstm_backward", cpu_kernel<RecurrentBackwardOp>},
      {"gru", cpu_kernel<RecurrentOp>},
      {"gru_backward", cpu_kernel<RecurrentBackwardOp>},
      // Normalization; the sync ops and tower_sum work over all towers.
      {"batch_norm", cpu_kernel<BatchNormOp>},
      {"batch_norm_backward", cpu_kernel<BatchNormBackwardOp>},
      {"batch_norm_eval", cpu_kernel<BatchNormEvalOp>},
      {"batch_norm_eval_backward", cpu_kernel<BatchNormEvalBackwardOp>},
      {"batch_norm_moments", cpu_kernel<BatchNormMomentsOp>},
      {"batch_norm_sync", cpu_kernel<BatchNormSyncOp>},
      {"batch_norm_gradient_sums", cpu_kernel<BatchNormGradientSumsOp>},
      {"batch_norm_sync_backward", cpu_kernel<BatchNormSyncBackwardOp>},
      {"layer_norm", cpu_kernel<LayerNormOp>},
      {"layer_norm_backward", cpu_kernel<LayerNormBackwardOp>},
      {"rms_norm", cpu_kernel<RmsNormOp>},
      {"rms_norm_backward", cpu_kernel<RmsNormBackwardOp>},
      {"group_norm", cpu_kernel<GroupNormOp>},
      {"group_norm_backward", cpu_kernel<GroupNormBackwardOp>},
      {"tower_sum", cpu_kernel<TowerSumOp>},
      // What precision: exact computes.
      {"exact_product", cpu_kernel<ExactProductOp>},
      {"exact_product_backward_data", cpu_kernel<ExactProductBackwardDataOp>},
      {"exact_product_backward_weights", cpu_kernel<ExactProductBackwardWeightsOp>},
      {"exact_range", cpu_kernel<ExactRangeOp>},
      {"exact_gradient", cpu_kernel<ExactGradientOp>},
      {"exact_cross_entropy", cpu_kernel<ExactCrossEntropyOp>},
      {"exact_cross_entropy_backward", cpu_kernel<ExactCrossEntropyBackwardOp>},
      // Pooling and resizing.
      {"max_pool2d", cpu_kernel<MaxPool2dOp>},
      {"max_pool2d_backward", cpu_kernel<MaxPool2dBackwardOp>},
      {"avg_pool2d", cpu_kernel<AvgPool2dOp>},
      {"avg_pool2d_backward", cpu_kernel<AvgPool2dBackwardOp>},
      {"global_avg_pool", cpu_kernel<GlobalAvgPoolOp>},
      {"global_avg_pool_backward", cpu_kernel<GlobalAvgPoolBackwardOp>},
      {"resize", cpu_kernel<ResizeOp>},
      {"resize_backward", cpu_kernel<ResizeBackwardOp>},
      // Ops that move elements.
      {"concat", cpu_kernel<ConcatOp>},
      {"slice", cpu_kernel<SliceOp>},
      {"slice_backward", cpu_kernel<SliceBackwardOp>},
      {"pad_channels", cpu_kernel<PadChannelsOp>},
      {"transpose", cpu_kernel<TransposeOp>},
      {"expand", cpu_kernel<ExpandOp>},
      {"expand_backward", cpu_kernel<ExpandBackwardOp>},
      // Rows by index.
      {"gather", cpu_kernel<GatherOp>},
      {"gather_backward", cpu_kernel<GatherBackwardOp>},
      {"embedding", cpu_kernel<EmbeddingOp>},
      {"embedding_backward", cpu_kernel<EmbeddingBackwardOp>},
      {"exact_match", cpu_kernel<ExactMatchOp>},
      {"one_hot", cpu_kernel<OneHotOp>},
      // Softmax and sums over an axis.
      {"softmax", cpu_kernel<SoftmaxOp>},
      {"softmax_backward", cpu_kernel<SoftmaxBackwardOp>},
      {"log_softmax", cpu_kernel<SoftmaxOp>},
      {"log_softmax_backward", cpu_kernel<SoftmaxBackwardOp>},
      {"sum", cpu_kernel<ReduceOp>},
      {"sum_backward", cpu_kernel<ReduceBackwardOp>},
      {"mean", cpu_kernel<ReduceOp>},
      {"mean_backward", cpu_kernel<ReduceBackwardOp>},
      // Losses.
      {"mean_loss", cpu_kernel<MeanLossOp>},
      {"mean_loss_backward", cpu_kernel<MeanLossBackwardOp>},
      {"softmax_cross_entropy", cpu_kernel<SoftmaxCrossEntropyOp>},
      {"softmax_cross_entropy_backward", cpu_kernel<SoftmaxCrossEntropyBackwardOp>},
      {"distillation", cpu_kernel<DistillationOp>},
      {"distillation_backward", cpu_kernel<DistillationBackwardOp>},
      {"mse", cpu_kernel<RegressionLossOp>},
      {"mse_backward", cpu_kernel<RegressionLossBackwardOp>},
      {"l1_l2", cpu_kernel<RegressionLossOp>},
      {"l1_l2_backward", cpu_kernel<RegressionLossBackwardOp>},
      {"l1", cpu_kernel<RegressionLossOp>},
      {"l1_backward", cpu_kernel<RegressionLossBackwardOp>},
  };
  return table;
}

}  // namespace spire::inline kernels
