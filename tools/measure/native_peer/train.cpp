// One timed training run on libtorch's C++ API: mlp or cnn, fp32 or bf16 by autocast, Adam in its
// fused form, NHWC, a malloc that keeps its blocks. Prints the JSON line of
// tools/measure/pytorch_worker.py.
//   native_peer --model cnn --precision bf16 --batch 128 --lr 0.001 --seconds 5 --warm-up 1.5
//     --warm-up-steps 20 --threads 2
#include <chrono>
#include <climits>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>

#include <ATen/autocast_mode.h>
#include <malloc.h>
#include <torch/version.h>

#include "models.h"

namespace native_peer {
namespace {

constexpr int64_t batches = 4;  // made before the run; the steps cycle over them

// The command line: pairs of --name value.
class Arguments {
 public:
  Arguments(int count, char** words) {
    if (count % 2 == 0) throw std::invalid_argument("arguments come in pairs: --name value");
    for (int i = 1; i < count; i += 2) values_[words[i]] = words[i + 1];
  }
  std::string text(const std::string& name) const {
    auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument(name + " is missing");
    return found->second;
  }
  double number(const std::string& name) const { return std::stod(text(name)); }

 private:
  std::map<std::string, std::string> values_;
};

// Adam by at::_fused_adam_, as torch.optim.Adam(fused=True) does in Python; the C++ API's own Adam
// has no fused form.
class FusedAdam {
 public:
  FusedAdam(std::vector<torch::Tensor> parameters, double lr)
      : parameters_(std::move(parameters)), lr_(lr) {
    for (const torch::Tensor& parameter : parameters_) {
      means_.push_back(torch::zeros_like(parameter));
      squares_.push_back(torch::zeros_like(parameter));
      steps_.push_back(torch::zeros({}, torch::kFloat32));
    }
  }
  void zero_grad() {
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  }
  void step() {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    for (torch::Tensor& step : steps_) step.add_(1);
    at::_fused_adam_(parameters_, gradients, means_, squares_, {}, steps_, lr_, 0.9, 0.999, 0, 1e-8,
                     false, false);
  }

 private:
  std::vector<torch::Tensor> parameters_, means_, squares_, steps_;
  double lr_;
};

// Autocast to bf16 on the CPU for its lifetime, as `with torch.autocast("cpu")` does.
class Autocast {
 public:
  explicit Autocast(bool enabled) {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, enabled);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
};

struct Batch {
  torch::Tensor images, labels;
};

struct Timing {
  int64_t steps = 0;
  double seconds = 0, cpu_seconds = 0;  // of all threads
  float loss = 0;                       // of the last step
};

class TowerTrainer {
 public:
  explicit TowerTrainer(const Arguments& arguments)
      : bf16_(arguments.text("--precision") == "bf16"),
        model_(make_model(arguments.text("--model"))),
        optimizer_(channels_last(), arguments.number("--lr")) {
    auto rows = static_cast<int64_t>(arguments.number("--batch"));
    for (int64_t i = 0; i < batches; ++i) {
      torch::Tensor images = torch::randn({rows, 1, 28, 28}).to(bf16_ ? at::kBFloat16 : at::kFloat);
      batches_.push_back({images.clone(at::MemoryFormat::ChannelsLast),
                          torch::randint(10, {rows}, torch::kInt64)});
    }
  }

  // Steps until `seconds` have passed and `least` steps were done.
  Timing run(double seconds, int64_t least) {
    Timing timing;
    auto start = std::chrono::steady_clock::now();
    std::clock_t cpu_start = std::clock();
    torch::Tensor loss;
    while (timing.seconds < seconds || timing.steps < least) {
      loss = step(batches_[static_cast<size_t>(timing.steps++ % batches)]);
      timing.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    timing.cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    timing.loss = loss.item<float>();
    return timing;
  }

 private:
  // Brings the convolutions' weights into NHWC and returns all parameters. clone() sets the strides
  // also where contiguous() does nothing, as one channel lies the same in NCHW and in NHWC.
  std::vector<torch::Tensor> channels_last() {
    std::vector<torch::Tensor> parameters = model_->parameters();
    for (torch::Tensor& parameter : parameters) {
      if (parameter.dim() == 4)
        parameter.set_data(parameter.detach().clone(at::MemoryFormat::ChannelsLast));
    }
    return parameters;
  }

  torch::Tensor step(const Batch& batch) {
    optimizer_.zero_grad();
    torch::Tensor loss;
    {
      Autocast autocast(bf16_);
      loss = torch::nn::functional::cross_entropy(model_->forward(batch.images), batch.labels);
    }
    loss.backward();
    optimizer_.step();
    return loss;
  }

  bool bf16_;
  std::shared_ptr<Model> model_;
  FusedAdam optimizer_;
  std::vector<Batch> batches_;
};

// VmRSS (now) or VmHWM (peak) of this process in bytes.
int64_t resident_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + field);
}

void main(const Arguments& arguments) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 1 << 26);
  at::set_num_threads(static_cast<int>(arguments.number("--threads")));
  at::globalContext().setFlushDenormal(true);
  torch::manual_seed(7);
  int64_t after_start = resident_bytes("VmRSS");
  TowerTrainer trainer(arguments);
  trainer.run(arguments.number("--warm-up"),
              static_cast<int64_t>(arguments.number("--warm-up-steps")));
  Timing timing = trainer.run(arguments.number("--seconds"), 3);
  double samples = static_cast<double>(timing.steps) * arguments.number("--batch");
  std::printf(
      "{\"samples_per_s\": %.3f, \"samples_per_cpu_s\": %.3f, \"steps\": %lld, \"last_loss\": %g, "
      "\"peak_rss\": %lld, \"rss_after_import\": %lld, \"torch\": \"%s\"}\n",
      samples / timing.seconds, samples / timing.cpu_seconds, static_cast<long long>(timing.steps),
      timing.loss, static_cast<long long>(resident_bytes("VmHWM")),
      static_cast<long long>(after_start), TORCH_VERSION);
}

}  // namespace
}  // namespace native_peer

int main(int count, char** words) {
  try {
    native_peer::main(native_peer::Arguments(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "native_peer: %s\n", error.what());
    return 1;
  }
}
