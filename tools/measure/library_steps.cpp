// What the library adds to a step, in two parts.
//   library_steps c [ROUNDS]     the CNN's step by spire_trainer_step(), on batches of the caller,
//   against
//                                spire_trainer_fit(), the engine's own loop, in one process, in
//                                turn
//   library_steps two [ROUNDS]   two trainers on two threads, each on its half of the cores,
//   against each alone
// Prints the median over the rounds, with the smallest and the largest. Linux.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

#include <spire/c.h>
#include <spire/spire.h>

namespace {

constexpr int64_t samples = 64 * 128, batch = 128, pixels = 28 * 28;
constexpr int64_t block = 60;  // steps that are timed at a time

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(spire_status status) {
  if (status == SPIRE_OK) return;
  std::fprintf(stderr, "library_steps: %s\n", spire_last_error());
  std::exit(status);
}

// Random images and labels, which are the same in each process.
struct Images {
  std::vector<float> pixels_of = std::vector<float>(samples * pixels);  // (N, 28, 28, 1)
  std::vector<int32_t> labels = std::vector<int32_t>(samples);          // (N)

  Images() {
    uint32_t state = 1;
    auto draw = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (float& pixel : pixels_of) pixel = static_cast<float>(draw()) / (1 << 24);
    for (int32_t& label : labels) label = static_cast<int32_t>(draw() % 10);
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds from the end of a step to the end of the next: their median, as fit evaluates in between.
class StepTimer {
 public:
  void step_ended() {
    double end = now();
    if (last_ > 0) seconds_.push_back(end - last_);
    last_ = end;
  }
  double seconds() const { return median(seconds_); }

 private:
  double last_ = 0;
  std::vector<double> seconds_;
};

void print(const char* what, const std::vector<double>& ratios) {
  auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%s: median %.4f (%.4f..%.4f) of %zu\n", what, median(ratios), *least, *most,
              ratios.size());
}

double fit_block(spire_trainer* trainer) {
  StepTimer timer;
  spire_fit_options options = {};
  options.size = sizeof options;
  options.steps = block;
  options.user = &timer;
  options.on_step = [](void* user, const spire_step*) {
    static_cast<StepTimer*>(user)->step_ended();
    return 0;
  };
  check(spire_trainer_fit(trainer, &options, nullptr));
  return timer.seconds();
}

double step_block(spire_trainer* trainer, const Images& images) {
  StepTimer timer;
  const int64_t shape[] = {batch, 28, 28, 1};
  for (int64_t i = 0; i < block; ++i) {
    int64_t first = i * batch % samples;
    const spire_array arrays[] = {
        {sizeof(spire_array), "images", images.pixels_of.data() + first * pixels, SPIRE_F32, 4,
         shape, nullptr},
        {sizeof(spire_array), "labels", images.labels.data() + first, SPIRE_I32, 1, shape,
         nullptr}};
    check(spire_trainer_step(trainer, arrays, 2, nullptr, nullptr));
    timer.step_ended();
  }
  return timer.seconds();
}

void time_c(int rounds) {
  Images images;
  const int64_t shape[] = {samples, 28, 28, 1};
  const spire_array arrays[] = {
      {sizeof(spire_array), "images", images.pixels_of.data(), SPIRE_F32, 4, shape, nullptr},
      {sizeof(spire_array), "labels", images.labels.data(), SPIRE_I32, 1, shape, nullptr}};
  const spire_data data = {sizeof data, arrays, 2, nullptr, 0, 10};
  spire_config* config = nullptr;
  check(
      spire_config_create("{model: {name: cnn}, towers: 2, tower_threads: 1, devices: cpu, "
                          "batch_size: 64, epochs: 1000000, optimizer: {name: adam, lr: 0.001}}",
                          nullptr, 0, &config));
  spire_trainer* trainer = nullptr;
  check(spire_trainer_create_on(config, &data, &trainer));
  fit_block(trainer);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    bool fit_first = round % 2 == 0;
    double fit = fit_first ? fit_block(trainer) : 0, step = step_block(trainer, images);
    if (!fit_first) fit = fit_block(trainer);
    ratios.push_back(step / fit);
  }
  print("seconds of a step by spire_trainer_step, of those in spire_trainer_fit", ratios);
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
}

// Lets the calling thread, and those it starts, use the cores [first, first + count).
void use_cores(int first, int count) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core = first; core < first + count; ++core) CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) != 0)
    std::perror("sched_setaffinity"), std::exit(3);
}

spire::RunConfig half_config(int cores) {
  spire::RunConfig config;
  config.model = {.name = "cnn"};
  config.data.name = "synthetic";
  config.data.synthetic.shape = {28, 28, 1};
  config.data.synthetic.samples = samples;
  config.data.synthetic.test_samples = 2;
  config.devices = {"cpu"};
  config.towers = 1;
  config.tower_threads = cores;
  config.batch_size = 64;
  config.epochs = 1000000;
  return config;
}

// Seconds of a step of a trainer on one half of the cores. Calls `meet` when it is warm, and goes
// on training after its block until `others_done`.
double time_half(int half, int cores, const std::function<void()>& meet,
                 const std::function<bool()>& others_done) {
  use_cores(half * cores, cores);
  spire::Trainer trainer(half_config(cores));
  trainer.fit({.steps = block / 2});
  meet();
  StepTimer timer;
  trainer.fit({.steps = 4 * block, .on_step = [&](const spire::StepResult&) {
                 timer.step_ended();
                 return true;
               }});
  double seconds = timer.seconds();
  while (!others_done()) trainer.fit({.steps = 1});
  return seconds;
}

double time_alone(int half, int cores) {
  double seconds = 0;
  std::thread([&] {
    seconds = time_half(
        half, cores, [] {}, [] { return true; });
  }).join();
  return seconds;
}

std::vector<double> time_both(int cores) {
  std::vector<double> seconds(2);
  std::atomic<int> warm{0}, timed{0};
  std::vector<std::thread> threads;
  for (int half = 0; half < 2; ++half)
    threads.emplace_back([&, half] {
      auto meet = [&] {
        ++warm;
        while (warm < 2) std::this_thread::yield();
      };
      bool counted = false;
      seconds[static_cast<size_t>(half)] = time_half(half, cores, meet, [&] {
        if (!counted) ++timed;
        counted = true;
        return timed == 2;
      });
    });
  for (std::thread& thread : threads) thread.join();
  return seconds;
}

void time_two(int rounds) {
  int cores = static_cast<int>(std::thread::hardware_concurrency()) / 2;
  if (cores == 0) std::fprintf(stderr, "library_steps: two needs two cores\n"), std::exit(3);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> both = time_both(cores);
    for (int half = 0; half < 2; ++half)
      ratios.push_back(time_alone(half, cores) / both[static_cast<size_t>(half)]);
  }
  print("speed of a trainer beside another, of its speed alone on its half of the cores", ratios);
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view mode = argc > 1 ? argv[1] : "";
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if ((mode != "c" && mode != "two") || rounds < 1) {
    std::fprintf(stderr, "usage: library_steps c|two [ROUNDS]\n");
    return 2;
  }
  mode == "c" ? time_c(rounds) : time_two(rounds);
  return 0;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "library_steps: %s\n", error.what());
  return error.exit_code();
}
