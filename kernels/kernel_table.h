// Table of the kernels of all ops, one row per name of an op, instantiated once per kind of device.
// On<SomeOp>::make is the function that makes the kernel of a SomeOp on that kind of device. Braces
// say which tensors may have padded rows (PaddedRows).
#pragma once
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/cached_attention/cached_attention.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/distillation/distillation.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"
#include "kernels/ops/exact_product/exact_product.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/labels/labels.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/pool2d/pool2d.h"
#include "kernels/ops/recurrent/recurrent.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/row_norm/row_norm.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire {

template <template <typename> class On>
std::span<const KernelEntry> kernel_table() {
  static constexpr KernelEntry table[] = {
      // Activations and other elementwise ops.
      {"relu", On<ActivationOp>::make},
      {"relu_backward", On<ActivationBackwardOp>::make},
      {"leaky_relu", On<ActivationOp>::make},
      {"leaky_relu_backward", On<ActivationBackwardOp>::make},
      {"gelu", On<ActivationOp>::make},
      {"gelu_backward", On<ActivationBackwardOp>::make},
      {"gelu_tanh", On<ActivationOp>::make},
      {"gelu_tanh_backward", On<ActivationBackwardOp>::make},
      {"silu", On<ActivationOp>::make},
      {"silu_backward", On<ActivationBackwardOp>::make},
      {"sigmoid", On<ActivationOp>::make},
      {"sigmoid_backward", On<ActivationBackwardOp>::make},
      {"tanh", On<ActivationOp>::make},
      {"tanh_backward", On<ActivationBackwardOp>::make},
      {"affine", On<ActivationOp>::make},
      {"exp", On<ActivationOp>::make},
      {"exp_backward", On<ActivationBackwardOp>::make},
      {"log", On<ActivationOp>::make},
      {"log_backward", On<ActivationBackwardOp>::make},
      {"square", On<ActivationOp>::make},
      {"square_backward", On<ActivationBackwardOp>::make},
      {"sqrt", On<ActivationOp>::make},
      {"sqrt_backward", On<ActivationBackwardOp>::make},
      {"abs", On<ActivationOp>::make},
      {"abs_backward", On<ActivationBackwardOp>::make},
      {"add", On<AddOp>::make},
      {"mul", On<MulOp>::make},
      {"sub", On<SubOp>::make},
      {"div", On<DivOp>::make},
      {"cast", On<CastOp>::make},
      {"swiglu", On<SwigluOp>::make},
      {"swiglu_backward", On<SwigluBackwardOp>::make},
      {"dropout", On<DropoutOp>::make},
      {"dropout_backward", On<DropoutBackwardOp>::make},
      // Convolutions and products of matrices.
      {"conv2d", On<Conv2dOp>::make},
      {"conv2d_backward_data", On<Conv2dBackwardDataOp>::make},
      {"conv2d_backward_weights", On<Conv2dBackwardWeightsOp>::make},
      {"conv_transpose2d", On<ConvTranspose2dOp>::make},
      {"dense", On<DenseOp>::make, {.output = true}},
      {"dense_backward_data", On<DenseBackwardDataOp>::make, {.input = 0}},
      {"dense_backward_weights", On<DenseBackwardWeightsOp>::make, {.input = 1}},
      {"bias", On<BiasOp>::make},
      {"bias_backward", On<BiasBackwardOp>::make},
      {"matmul", On<MatmulOp>::make},
      {"attention", On<AttentionOp>::make},
      {"attention_backward", On<AttentionBackwardOp>::make},
      {"cached_attention", On<CachedAttentionOp>::make},
      {"rope", On<RopeOp>::make},
      {"lstm", On<RecurrentOp>::make},
      {"lstm_backward", On<RecurrentBackwardOp>::make},
      {"gru", On<RecurrentOp>::make},
      {"gru_backward", On<RecurrentBackwardOp>::make},
      // Normalization; the sync ops and tower_sum work over all towers.
      {"batch_norm", On<BatchNormOp>::make},
      {"batch_norm_backward", On<BatchNormBackwardOp>::make},
      {"batch_norm_eval", On<BatchNormEvalOp>::make},
      {"batch_norm_eval_backward", On<BatchNormEvalBackwardOp>::make},
      {"batch_norm_moments", On<BatchNormMomentsOp>::make},
      {"batch_norm_sync", On<BatchNormOp>::make},
      {"batch_norm_gradient_sums", On<BatchNormGradientSumsOp>::make},
      {"batch_norm_sync_backward", On<BatchNormBackwardOp>::make},
      {"layer_norm", On<LayerNormOp>::make},
      {"layer_norm_backward", On<LayerNormBackwardOp>::make},
      {"rms_norm", On<RmsNormOp>::make},
      {"rms_norm_backward", On<RmsNormBackwardOp>::make},
      {"group_norm", On<GroupNormOp>::make},
      {"group_norm_backward", On<GroupNormBackwardOp>::make},
      {"tower_sum", On<TowerSumOp>::make},
      // Ops of precision: exact.
      {"exact_product", On<ExactProductOp>::make},
      {"exact_product_backward_data", On<ExactProductBackwardDataOp>::make},
      {"exact_product_backward_weights", On<ExactProductBackwardWeightsOp>::make},
      {"exact_range", On<ExactRangeOp>::make},
      {"exact_gradient", On<ExactGradientOp>::make},
      {"exact_cross_entropy", On<ExactCrossEntropyOp>::make},
      {"exact_cross_entropy_backward", On<ExactCrossEntropyBackwardOp>::make},
      // Pooling and resizing.
      {"max_pool2d", On<MaxPool2dOp>::make},
      {"max_pool2d_backward", On<MaxPool2dBackwardOp>::make},
      {"avg_pool2d", On<AvgPool2dOp>::make},
      {"avg_pool2d_backward", On<AvgPool2dBackwardOp>::make},
      {"global_avg_pool", On<GlobalAvgPoolOp>::make},
      {"global_avg_pool_backward", On<GlobalAvgPoolBackwardOp>::make},
      {"resize", On<ResizeOp>::make},
      {"resize_backward", On<ResizeBackwardOp>::make},
      // Ops that move elements.
      {"concat", On<ConcatOp>::make},
      {"slice", On<SliceOp>::make},
      {"slice_backward", On<SliceBackwardOp>::make},
      {"pad_channels", On<PadChannelsOp>::make},
      {"transpose", On<TransposeOp>::make},
      {"expand", On<ExpandOp>::make},
      {"expand_backward", On<ExpandBackwardOp>::make},
      // Rows by index.
      {"gather", On<GatherOp>::make},
      {"gather_backward", On<GatherBackwardOp>::make},
      {"embedding", On<EmbeddingOp>::make},
      {"embedding_backward", On<EmbeddingBackwardOp>::make},
      {"exact_match", On<ExactMatchOp>::make},
      {"one_hot", On<OneHotOp>::make},
      // Softmax and sums over an axis.
      {"softmax", On<SoftmaxOp>::make},
      {"softmax_backward", On<SoftmaxBackwardOp>::make},
      {"log_softmax", On<SoftmaxOp>::make},
      {"log_softmax_backward", On<SoftmaxBackwardOp>::make},
      {"sum", On<ReduceOp>::make},
      {"sum_backward", On<ReduceBackwardOp>::make},
      {"mean", On<ReduceOp>::make},
      {"mean_backward", On<ReduceBackwardOp>::make},
      // Losses.
      {"mean_loss", On<MeanLossOp>::make},
      {"mean_loss_backward", On<MeanLossBackwardOp>::make},
      {"softmax_cross_entropy", On<SoftmaxCrossEntropyOp>::make, {.input = 0}},
      {"softmax_cross_entropy_with_gradient",
       On<SoftmaxCrossEntropyOp>::make,
       {.input = 0, .output = true}},
      {"distillation", On<DistillationOp>::make},
      {"distillation_backward", On<DistillationBackwardOp>::make},
      {"mse", On<RegressionLossOp>::make},
      {"mse_backward", On<RegressionLossBackwardOp>::make},
      {"l1_l2", On<RegressionLossOp>::make},
      {"l1_l2_backward", On<RegressionLossBackwardOp>::make},
      {"l1", On<RegressionLossOp>::make},
      {"l1_backward", On<RegressionLossBackwardOp>::make},
  };
  return table;
}

}  // namespace spire
