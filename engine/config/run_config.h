// A run's config as plain structs. Every field has its default here; its range, one-line
// description and YAML key stand in schema.cpp, from which parsing, --help-config and
// --print-config are made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spire {

struct ModelConfig {
  std::string name = "cnn";          // mlp | cnn | resnet
  std::vector<int64_t> hidden = {};  // mlp, cnn: widths of the dense layers; empty: the model's own
  std::vector<int64_t> channels = {};  // cnn: channels of the conv layers; empty: the model's own
  int64_t depth = 20;                  // resnet: 6n+2 layers
  double dropout = 0.0;                // mlp, cnn: before the last dense layers
};

struct AugmentConfig {
  int64_t crop = 0;  // pixels of zero padding on each side, then a random crop of the original size
  bool flip = false;  // horizontal flip of every second sample, by chance
};

struct DataConfig {
  std::string name = "fashion_mnist";   // fashion_mnist | idx
  std::string path = "auto";            // folder of the four IDX files; auto: the known places
  int64_t workers = 1;                  // reader threads
  int64_t prefetch = 3;                 // global batches prepared ahead
  std::string last_batch = "weighted";  // weighted | drop
  AugmentConfig augment;
};

struct LossConfig {
  std::string name = "cross_entropy";  // cross_entropy | mse | l1
  double label_smoothing = 0.0;        // cross_entropy
};

struct OptimizerConfig {
  std::string name = "sgd";  // sgd | adam | adamw
  double lr = 0.1;
  double momentum = 0.9;  // sgd
  bool nesterov = false;  // sgd
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
  double epsilon = 1e-8;              // adam, adamw
  double clip_norm = 0.0;             // global gradient norm; 0: no clipping
};

struct ScheduleConfig {
  std::string name = "constant";  // constant | step | cosine | linear | polynomial
  double warmup_epochs = 0.0;
  int64_t warmup_steps = 0;   // wins over warmup_epochs when set
  double step_epochs = 10.0;  // step: epochs between drops
  double gamma = 0.1;         // step: factor of a drop
  double min_lr = 0.0;        // cosine, linear, polynomial: where they end
  double power = 2.0;         // polynomial
};

struct EvalConfig {
  int64_t every_epochs = 1;  // 0: only at the end
};

struct CheckpointConfig {
  int64_t every_steps = 0;   // 0: at the end of epochs only
  int64_t every_epochs = 1;  // 0: never by epoch
  int64_t keep_last = 3;
  int64_t keep_every_steps = 0;  // checkpoints at multiples of it are never deleted; 0: none
};

struct LogConfig {
  int64_t every_steps = 50;     // metrics.jsonl: a line every so many steps
  double every_seconds = 10.0;  // plain progress lines where stderr is no terminal
};

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  LossConfig loss;
  int64_t batch_size = 128;              // samples a tower a step
  std::optional<int64_t> global_batch;   // batch_size x towers, or instead of batch_size
  std::optional<int64_t> towers;         // default: number of devices
  std::optional<int64_t> tower_threads;  // CPU threads a tower; default: cores / towers
  std::vector<std::string> devices = {"auto"};
  std::string parameter_device = "auto";
  std::string strategy = "parameter_device";
  std::string reduction = "invariant";
  std::string precision = "fp32";  // fp32 | bf16 | fp16
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  int64_t epochs = 10;
  std::optional<int64_t> steps;  // ends the run earlier or later than epochs, if given
  EvalConfig eval;
  CheckpointConfig checkpoint;
  LogConfig log;
  uint64_t seed = 7;
  std::string output = "runs/spire";
};

}  // namespace spire
