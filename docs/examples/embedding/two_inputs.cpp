// A model of the program that reads two columns, an image and numbers, and a session that computes
// it, made from the trainer and from its file.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include <spire/spire.h>

constexpr int64_t batch = 16, side = 8;

std::shared_ptr<const spire::Model> make_model() {
  auto model = std::make_shared<spire::Model>();
  model->name = "image_and_numbers";
  model->layers = [](spire::Graph& graph, const spire::ModelInputs& inputs) {
    using namespace spire;
    Value image = relu(graph, conv2d(graph, "conv", inputs["images"], {.channels = 4}));
    Value seen = dense(graph, "seen", flatten(graph, image), 16);
    Value told = dense(graph, "told", inputs["speed"], 16);
    return dense(graph, "output", relu(graph, add(graph, seen, told)), 1);
  };
  return model;
}

int main() try {
  spire::RunConfig config;
  config.devices = {"cpu"};
  config.towers = 1;
  config.batch_size = batch;
  config.optimizer.lr = 0.05;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  spire::SampleSpec data;
  data.columns = {{"images", {side, side, 1}, spire::DType::f32},
                  {"speed", {2}, spire::DType::f32},
                  {"values", {1}, spire::DType::f32}};
  spire::Trainer trainer(config, data, {.model = make_model(), .predict_rows = 0});

  std::vector<uint8_t> camera(batch * side * side);  // bytes stand for 0 to 1
  std::vector<float> speed(batch * 2), values(batch);
  for (size_t i = 0; i < camera.size(); ++i) camera[i] = static_cast<uint8_t>(i * 37 % 256);
  for (size_t i = 0; i < batch; ++i) {
    speed[2 * i] = float(i % 5) / 5, speed[2 * i + 1] = float(i % 3) / 3;
    values[i] = speed[2 * i] - speed[2 * i + 1];
  }
  auto images = spire::array("images", camera.data(), {batch, side, side, 1});
  double first = 0, last = 0;
  for (int step = 0; step < 300; ++step) {
    last = trainer.step({{images, speed.data(), values.data()}, batch}).loss;
    if (step == 0) first = last;
  }

  spire::InferenceSession session(trainer, {.rows = batch});
  std::vector<spire::ColumnRows> columns = {images, speed.data()};
  std::vector<float> outputs(batch), saved_outputs(batch);
  session.predict(columns, batch, outputs);
  auto file = std::filesystem::temp_directory_path() / "image_and_numbers.h5";
  trainer.save(file);
  auto saved = spire::find_checkpoint(file.string(), {}, spire::CheckpointChoice::newest, {});
  spire::InferenceSession(saved, {.rows = batch}, make_model())
      .predict(columns, batch, saved_outputs);
  std::filesystem::remove(file);
  std::printf("loss %.4f, then %.4f; output %.3f for %.3f\n", first, last, outputs[3], values[3]);
  return last < first / 10 && outputs == saved_outputs ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
