// Every op's CPU kernel, one row an op.
#include <spire/kernels/activation.h>
#include <spire/kernels/add.h>
#include <spire/kernels/attention.h>
#include <spire/kernels/avg_pool2d.h>
#include <spire/kernels/batch_norm.h>
#include <spire/kernels/batch_norm_sync.h>
#include <spire/kernels/bias.h>
#include <spire/kernels/concat.h>
#include <spire/kernels/conv2d.h>
#include <spire/kernels/conv_transpose2d.h>
#include <spire/kernels/dense.h>
#include <spire/kernels/dropout.h>
#include <spire/kernels/embedding.h>
#include <spire/kernels/expand.h>
#include <spire/kernels/gather.h>
#include <spire/kernels/global_avg_pool.h>
#include <spire/kernels/kernel.h>
#include <spire/kernels/layer_norm.h>
#include <spire/kernels/matmul.h>
#include <spire/kernels/max_pool2d.h>
#include <spire/kernels/mul.h>
#include <spire/kernels/one_hot.h>
#include <spire/kernels/pad_channels.h>
#include <spire/kernels/regression_loss.h>
#include <spire/kernels/resize.h>
#include <spire/kernels/softmax_cross_entropy.h>
#include <spire/kernels/tower_sum.h>
#include <spire/kernels/transpose.h>

namespace spire {

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

}  // namespace spire
