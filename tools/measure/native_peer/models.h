// The mlp and cnn of the comparison with PyTorch, on libtorch; layers, order and shapes are as in
// tools/measure/peer_models.py.
#pragma once

#include <string>

#include <torch/torch.h>

namespace native_peer {

// images (N, C, H, W) -> logits (N, classes)
class Model : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

class Mlp : public Model {
 public:
  Mlp() {
    register_module("dense1", dense1_);
    register_module("dense2", dense2_);
    register_module("dense3", dense3_);
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = torch::relu(dense1_(images.flatten(1)));
    return dense3_(torch::relu(dense2_(x)));
  }

 private:
  torch::nn::Linear dense1_{784, 512}, dense2_{512, 256}, dense3_{256, 10};
};

class Cnn : public Model {
 public:
  Cnn() {
    register_module("conv1", conv1_);
    register_module("conv2", conv2_);
    register_module("dense1", dense1_);
    register_module("dense2", dense2_);
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = torch::max_pool2d(torch::relu(conv1_(images)), 2);
    x = torch::max_pool2d(torch::relu(conv2_(x)), 2);
    return dense2_(torch::relu(dense1_(x.permute({0, 2, 3, 1}).flatten(1))));
  }

 private:
  static torch::nn::Conv2dOptions conv(int64_t inputs, int64_t outputs) {
    return torch::nn::Conv2dOptions(inputs, outputs, 3).padding(1);
  }
  torch::nn::Conv2d conv1_{conv(1, 32)}, conv2_{conv(32, 64)};
  torch::nn::Linear dense1_{7 * 7 * 64, 128}, dense2_{128, 10};
};

// Throws std::invalid_argument for a name that is neither mlp nor cnn.
inline std::shared_ptr<Model> make_model(const std::string& name) {
  if (name == "mlp") return std::make_shared<Mlp>();
  if (name == "cnn") return std::make_shared<Cnn>();
  throw std::invalid_argument("--model: " + name + " is not mlp or cnn");
}

}  // namespace native_peer
