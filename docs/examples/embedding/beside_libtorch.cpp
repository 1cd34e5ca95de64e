// Trains one model by libtorch and one by Spire in a single process; each links a oneDNN of its
// own.
#include <cmath>
#include <cstdio>
#include <vector>

#include <torch/torch.h>

#include <spire/spire.h>

int main() try {
  torch::manual_seed(1);
  torch::Tensor x = torch::rand({512, 3}) * 2 - 1;
  torch::Tensor y = x.select(1, 0).mul(2).sub(x.select(1, 1)).unsqueeze(1).contiguous();
  torch::nn::Sequential theirs(torch::nn::Linear(3, 16), torch::nn::ReLU(),
                               torch::nn::Linear(16, 1));
  torch::optim::SGD sgd(theirs->parameters(), 0.1);

  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {16}};
  config.devices = {"cpu"};
  config.towers = 1;
  config.batch_size = 64;
  config.optimizer = {.lr = 0.1, .momentum = 0};
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  spire::SampleSpec data;
  data.columns = {{"features", {3}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  spire::Trainer ours(config, data);

  float their_loss = 0;
  double our_loss = 0;
  for (int64_t step = 0; step < 400; ++step) {
    torch::Tensor rows = x.narrow(0, step % 8 * 64, 64), values = y.narrow(0, step % 8 * 64, 64);
    sgd.zero_grad();
    torch::Tensor loss = torch::mse_loss(theirs->forward(rows), values);
    loss.backward();
    sgd.step();
    their_loss = loss.item<float>();
    our_loss = ours.step({{rows.data_ptr<float>(), values.data_ptr<float>()}, 64}).loss;
  }
  std::vector<float> outputs = ours.predict(x.data_ptr<float>(), 512);
  std::printf("losses: libtorch %.5f, Spire %.5f\n", their_loss, our_loss);
  return their_loss < 0.01f && our_loss < 0.01 && outputs.size() == 512 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
