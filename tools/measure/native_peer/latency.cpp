// A small regressor on libtorch, on one thread: 20 inputs, two hidden layers of 64, Adam.
#include "latency.h"

#include <torch/torch.h>

int main(int argc, char** argv) {
  auto begin = latency::start_of_program(argc, argv);
  torch::set_num_threads(1);
  torch::set_num_interop_threads(1);
  namespace nn = torch::nn;
  nn::Sequential model(nn::Linear(latency::features, latency::width), nn::ReLU(),
                       nn::Linear(latency::width, latency::width), nn::ReLU(),
                       nn::Linear(latency::width, latency::outputs));
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  latency::Batch batch;
  float loss = 0;
  auto compute_gradients = [&] {
    auto x = torch::from_blob(batch.x.data(), {latency::batch, latency::features});
    auto y = torch::from_blob(batch.y.data(), {latency::batch, latency::outputs});
    optimizer.zero_grad();
    auto error = torch::mse_loss(model->forward(x), y);
    error.backward();
    return error;
  };
  auto step = [&] {
    auto error = compute_gradients();
    optimizer.step();
    loss += error.item<float>();
  };
  step();
  std::printf("first_step %.1f\n", latency::microseconds_since(begin) / 1000);
  latency::print("step_64", 2000, step);
  latency::print("parts_64", 2000, [&] {
    auto error = compute_gradients();
    nn::utils::clip_grad_norm_(model->parameters(), 1);
    optimizer.step();
    loss += error.item<float>();
  });
  torch::InferenceMode inference;
  std::vector<float> out(latency::batch * latency::outputs);
  auto predict = [&](int rows) {
    auto x = torch::from_blob(batch.x.data(), {rows, latency::features});
    auto y = model->forward(x);
    std::copy_n(y.data_ptr<float>(), rows * latency::outputs, out.data());
  };
  latency::print("predict_1", 10000, [&] { predict(1); });
  latency::print("predict_64", 5000, [&] { predict(latency::batch); });
  latency::print_memory();
  return loss > 0 ? 0 : 1;
}
