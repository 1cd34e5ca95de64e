// Every op's CUDA kernel, one row an op.
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/add/add.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv_transpose2d/conv_transpose2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/embedding/embedding.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/global_avg_pool/global_avg_pool.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/max_pool2d/max_pool2d.h"
#include "kernels/ops/mul/mul.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/ops/pad_channels/pad_channels.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/ops/tower_sum/tower_sum.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire::inline kernels {

std::span<const KernelEntry> cuda_kernels() {
  static constexpr KernelEntry table[] = {
      {"relu", make_activation_cuda},
      {"relu_backward", make_activation_backward_cuda},
      {"leaky_relu", make_activation_cuda},
      {"leaky_relu_backward", make_activation_backward_cuda},
      {"gelu", make_activation_cuda},
      {"gelu_backward", make_activation_backward_cuda},
      {"gelu_tanh", make_activation_cuda},
      {"gelu_tanh_backward", make_activation_backward_cuda},
      {"sigmoid", make_activation_cuda},
      {"sigmoid_backward", make_activation_backward_cuda},
      {"tanh", make_activation_cuda},
      {"tanh_backward", make_activation_backward_cuda},
      {"add", make_add_cuda},
      {"layer_norm", make_layer_norm_cuda},
      {"layer_norm_backward", make_layer_norm_backward_cuda},
      {"concat", make_concat_cuda},
      {"slice", make_slice_cuda},
      {"slice_backward", make_slice_backward_cuda},
      {"pad_channels", make_pad_channels_cuda},
      {"transpose", make_transpose_cuda},
      {"gather", make_gather_cuda},
      {"gather_backward", make_gather_backward_cuda},
      {"embedding", make_embedding_cuda},
      {"embedding_backward", make_embedding_backward_cuda},
      {"max_pool2d", make_max_pool2d_cuda},
      {"max_pool2d_backward", make_max_pool2d_backward_cuda},
      {"avg_pool2d", make_avg_pool2d_cuda},
      {"avg_pool2d_backward", make_avg_pool2d_backward_cuda},
      {"global_avg_pool", make_global_avg_pool_cuda},
      {"global_avg_pool_backward", make_global_avg_pool_backward_cuda},
      {"conv2d", make_conv2d_cuda},
      {"conv2d_backward_data", make_conv2d_backward_data_cuda},
      {"conv2d_backward_weights", make_conv2d_backward_weights_cuda},
      {"conv_transpose2d", make_conv_transpose2d_cuda},
      {"resize", make_resize_cuda},
      {"resize_backward", make_resize_backward_cuda},
      {"attention", make_attention_cuda},
      {"attention_backward", make_attention_backward_cuda},
      {"dense", make_dense_cuda, {.output = true}},
      {"dense_backward_data", make_dense_backward_data_cuda, {.input = 0}},
      {"dense_backward_weights", make_dense_backward_weights_cuda, {.input = 1}},
      {"matmul", make_matmul_cuda},
      {"bias", make_bias_cuda},
      {"bias_backward", make_bias_backward_cuda},
      {"mul", make_mul_cuda},
      {"dropout", make_dropout_cuda},
      {"dropout_backward", make_dropout_backward_cuda},
      {"one_hot", make_one_hot_cuda},
      {"expand", make_expand_cuda},
      {"expand_backward", make_expand_backward_cuda},
      {"batch_norm", make_batch_norm_cuda},
      {"batch_norm_backward", make_batch_norm_backward_cuda},
      {"batch_norm_eval", make_batch_norm_eval_cuda},
      {"batch_norm_moments", make_batch_norm_moments_cuda},
      {"batch_norm_sync", make_batch_norm_sync_cuda},
      {"batch_norm_gradient_sums", make_batch_norm_gradient_sums_cuda},
      {"batch_norm_sync_backward", make_batch_norm_sync_backward_cuda},
      {"tower_sum", make_tower_sum_cuda},
      {"softmax_cross_entropy", make_softmax_cross_entropy_cuda, {.input = 0}},
      {"softmax_cross_entropy_backward",
       make_softmax_cross_entropy_backward_cuda,
       {.input = 0, .output = true}},
      {"mse", make_regression_loss_cuda},
      {"mse_backward", make_regression_loss_backward_cuda},
      {"l1", make_regression_loss_cuda},
      {"l1_backward", make_regression_loss_backward_cuda},
      {"l1_l2", make_regression_loss_cuda},
      {"l1_l2_backward", make_regression_loss_backward_cuda},
  };
  return table;
}

}  // namespace spire::inline kernels
