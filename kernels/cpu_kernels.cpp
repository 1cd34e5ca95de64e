// Every op's CPU kernel, one row an op.
#include "kernels/kernel.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/add/add.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/batch_norm/batch_norm_sync.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
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

std::span<const KernelEntry> cpu_kernels() {
  static constexpr KernelEntry table[] = {
      {"relu", make_activation_cpu},
      {"relu_backward", make_activation_backward_cpu},
      {"leaky_relu", make_activation_cpu},
      {"leaky_relu_backward", make_activation_backward_cpu},
      {"gelu", make_activation_cpu},
      {"gelu_backward", make_activation_backward_cpu},
      {"gelu_tanh", make_activation_cpu},
      {"gelu_tanh_backward", make_activation_backward_cpu},
      {"sigmoid", make_activation_cpu},
      {"sigmoid_backward", make_activation_backward_cpu},
      {"tanh", make_activation_cpu},
      {"tanh_backward", make_activation_backward_cpu},
      {"conv2d", make_conv2d_cpu},
      {"conv2d_backward_data", make_conv2d_backward_data_cpu},
      {"conv2d_backward_weights", make_conv2d_backward_weights_cpu},
      {"conv_transpose2d", make_conv_transpose2d_cpu},
      {"resize", make_resize_cpu},
      {"resize_backward", make_resize_backward_cpu},
      {"dense", make_dense_cpu},
      {"dense_backward_data", make_dense_backward_data_cpu},
      {"dense_backward_weights", make_dense_backward_weights_cpu},
      {"add", make_add_cpu},
      {"batch_norm", make_batch_norm_cpu},
      {"batch_norm_backward", make_batch_norm_backward_cpu},
      {"batch_norm_eval", make_batch_norm_eval_cpu},
      {"batch_norm_moments", make_batch_norm_moments_cpu},
      {"batch_norm_sync", make_batch_norm_sync_cpu},
      {"batch_norm_gradient_sums", make_batch_norm_gradient_sums_cpu},
      {"batch_norm_sync_backward", make_batch_norm_sync_backward_cpu},
      {"layer_norm", make_layer_norm_cpu},
      {"layer_norm_backward", make_layer_norm_backward_cpu},
      {"embedding", make_embedding_cpu},
      {"embedding_backward", make_embedding_backward_cpu},
      {"attention", make_attention_cpu},
      {"attention_backward", make_attention_backward_cpu},
      {"tower_sum", make_tower_sum_cpu},
      {"softmax_cross_entropy", make_softmax_cross_entropy_cpu},
      {"softmax_cross_entropy_backward", make_softmax_cross_entropy_backward_cpu},
      {"max_pool2d", make_max_pool2d_cpu},
      {"max_pool2d_backward", make_max_pool2d_backward_cpu},
      {"avg_pool2d", make_avg_pool2d_cpu},
      {"avg_pool2d_backward", make_avg_pool2d_backward_cpu},
      {"global_avg_pool", make_global_avg_pool_cpu},
      {"global_avg_pool_backward", make_global_avg_pool_backward_cpu},
      {"dropout", make_dropout_cpu},
      {"dropout_backward", make_dropout_backward_cpu},
      {"matmul", make_matmul_cpu},
      {"bias", make_bias_cpu},
      {"bias_backward", make_bias_backward_cpu},
      {"mul", make_mul_cpu},
      {"concat", make_concat_cpu},
      {"slice", make_slice_cpu},
      {"slice_backward", make_slice_backward_cpu},
      {"transpose", make_transpose_cpu},
      {"gather", make_gather_cpu},
      {"gather_backward", make_gather_backward_cpu},
      {"expand", make_expand_cpu},
      {"expand_backward", make_expand_backward_cpu},
      {"pad_channels", make_pad_channels_cpu},
      {"mse", make_regression_loss_cpu},
      {"mse_backward", make_regression_loss_backward_cpu},
      {"l1", make_regression_loss_cpu},
      {"l1_backward", make_regression_loss_backward_cpu},
      {"l1_l2", make_regression_loss_cpu},
      {"l1_l2_backward", make_regression_loss_backward_cpu},
      {"one_hot", make_one_hot_cpu},
  };
  return table;
}

}  // namespace spire::inline kernels
