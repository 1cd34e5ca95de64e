// A trainer's state goes over a socket to another one, which trains on with the same bits.
#include <cstdint>
#include <cstdio>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <spire/spire.h>

constexpr int64_t batch = 32;

bool transfer(int socket, std::byte* bytes, size_t count, bool sends) {
  ssize_t done = sends ? ::send(socket, bytes, count, MSG_NOSIGNAL)
                       : ::recv(socket, bytes, count, MSG_WAITALL);
  return done == static_cast<ssize_t>(count);
}

spire::Trainer make_trainer() {
  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {16}};
  config.optimizer.name = spire::OptimizerConfig::Name::adam;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  config.devices = {"cpu"};
  config.towers = 1;
  config.batch_size = batch;
  spire::SampleSpec data;
  data.columns = {{"features", {4}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  return spire::Trainer(config, data);
}

void train(spire::Trainer& trainer, int64_t steps) {
  std::vector<float> features(batch * 4), values(batch);
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < features.size(); ++i)
      features[i] = float((i * 7 + trainer.steps_done()) % 11) / 11;
    for (size_t i = 0; i < values.size(); ++i) values[i] = features[4 * i] - features[4 * i + 3];
    trainer.step({{features.data(), values.data()}, batch});
  }
}

int main() try {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 3;
  uint64_t continued = 0;
  std::jthread receiver([&] {
    uint64_t size = 0;
    if (!transfer(ends[1], reinterpret_cast<std::byte*>(&size), sizeof size, false)) return;
    std::vector<std::byte> state(size);
    if (!transfer(ends[1], state.data(), size, false)) return;
    try {
      spire::Trainer trainer = make_trainer();
      trainer.load(state);
      train(trainer, 50);
      continued = trainer.parameter_hash();
    } catch (const spire::Error& error) {
      std::fprintf(stderr, "receiver: %s\n", error.what());
    }
  });

  struct Closed {  // also where this side fails: the receiver then reads the end
    int socket;
    ~Closed() { ::shutdown(socket, SHUT_RDWR); }
  } closed{ends[0]};
  spire::Trainer trainer = make_trainer();
  train(trainer, 50);
  std::vector<std::byte> state = trainer.save();
  uint64_t size = state.size();
  if (!transfer(ends[0], reinterpret_cast<std::byte*>(&size), sizeof size, true) ||
      !transfer(ends[0], state.data(), state.size(), true))
    return 3;
  train(trainer, 50);
  receiver.join();
  std::printf("%zu bytes; %016llx here, %016llx there\n", state.size(),
              (unsigned long long)trainer.parameter_hash(), (unsigned long long)continued);
  return trainer.parameter_hash() == continued ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
