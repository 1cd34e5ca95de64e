// The config of a run as plain structs and enums. Each member has its default here. Its YAML key,
// range and help are a row of engine/config/schema_*.cpp. YAML and --help-config show enumerators
// by name, with auto, true, false, class and value for those that C++ reserves (config/words.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/layer_config.h>

namespace spire {

// Kind of the target of a table or an HDF5 file: a class label or a number to predict.
enum class TargetKind { automatic, classes, values };

struct ModelConfig {
  enum class Variant { cifar, imagenet };
  enum class Shortcut { projection, identity };
  enum class BatchNorm { tower, sync };
  enum class Normalization { none, batch_norm };
  enum class Upsample { conv_transpose, resize };
  enum class OutputActivation { linear, sigmoid };

  std::string name = "auto";  // a row of the table in models/model.cpp; auto: as the data asks

  // Empty: the model's default.
  std::vector<int64_t> hidden = {};    // mlp, cnn, autoencoder: widths of the dense layers
  std::vector<int64_t> channels = {};  // cnn, unet, autoencoder: of the convolutions

  int64_t depth = 20;                        // resnet, vgg: number of layers
  Variant variant = Variant::cifar;          // resnet
  Shortcut shortcut = Shortcut::projection;  // resnet: where the shape changes
  double dropout = 0.0;                      // mlp, cnn, vgg, gpt, vit: probability
  BatchNorm batch_norm = BatchNorm::tower;   // samples of its statistics: a tower's, or all towers'
  Normalization normalization =
      Normalization::none;                       // cnn, vgg, unet, autoencoder: of a convolution
  Upsample upsample = Upsample::conv_transpose;  // unet, autoencoder
  OutputActivation output_activation = OutputActivation::linear;  // unet, autoencoder

  std::string size = "auto";  // a row of the table in models/transformer.cpp
  std::optional<int64_t> blocks = {}, width = {}, heads = {};  // gpt, vit: override those of size
  std::optional<int64_t> context =
      {};              // gpt: longest input; default: the length of the data's rows
  int64_t patch = 16;  // vit: side of a patch, pixels

  std::vector<LayerConfig> layers = {};  // layers: the model, layer by layer
};

// Random factors are drawn from [max(0, 1 - strength), 1 + strength].
struct ColorJitterConfig {
  double brightness = 0.0, contrast = 0.0, saturation = 0.0;  // strengths; 0: none

  bool operator==(const ColorJitterConfig&) const = default;
};

struct AugmentConfig {
  int64_t crop = 0;                  // pixels of zero padding before a random crop; 0: off
  bool flip = false;                 // horizontal flip with probability 1/2
  bool random_resized_crop = false;  // a random part, resized to data.image.size
  double min_scale = 0.08;           // random_resized_crop: smallest share of the image's area
  ColorJitterConfig color_jitter = {};
  double mixup = 0.0, cutmix = 0.0;  // alpha of Beta(alpha, alpha); 0: off

  bool operator==(const AugmentConfig&) const = default;
};

struct Cifar100Config {
  enum class Labels { fine, coarse };

  Labels labels = Labels::fine;
};

struct CsvConfig {
  enum class Header { automatic, yes, no };
  enum class Separator { automatic, comma, semicolon, tab };

  Header header = Header::automatic;
  Separator separator = Separator::automatic;
  std::string target = "last";  // the column's name, or its number from 0
  TargetKind task = TargetKind::automatic;
  double test_share = 0.1;  // share of the rows, without a test.csv
  // Columns to leave out, by name or number from 0; auto: those that number the rows.
  std::vector<std::string> ignore = {"auto"};
};

// Samples made from random numbers.
struct SyntheticConfig {
  enum class Kind { images, features, tokens };

  Kind kind = Kind::images;
  std::vector<int64_t> shape = {32, 32, 3};  // images (H, W, C), features (F), tokens (T)
  int64_t classes = 10;                      // tokens: size of the vocabulary
  int64_t samples = 50000;                   // for training
  int64_t test_samples = 10000;
};

// Paths of the datasets of one split within an HDF5 file. auto: images, features or tokens, and
// labels, values or targets, in the group train or test.
struct Hdf5Split {
  std::string input = "auto", target = "auto";
};

struct Hdf5Config {
  Hdf5Split train, test;
  TargetKind task = TargetKind::automatic;
  int64_t cache_mib = 256;  // decoded chunks in memory
};

struct ImageConfig {
  int64_t size = 0;  // pixels of a side; 0: image_folder 224, others as stored
};

struct TokensConfig {
  enum class Vocabulary { automatic, bytes, characters, gpt2 };

  int64_t length = 256;                // tokens a sample
  std::vector<std::string> text = {};  // text files; empty: token shards
  Vocabulary vocabulary = Vocabulary::automatic;
  std::string bpe_path = "auto";  // gpt2: folder of encoder.json and vocab.bpe
  double val_share = 0.1;         // share of the text, at its end, for evaluation
};

struct DataConfig {
  enum class LastBatch { weighted, drop };
  enum class OnError { stop, skip };
  enum class Shuffle { automatic, full, chunk };
  enum class Normalize { automatic, standard, unit };

  std::string name = "fashion_mnist";  // a row of engine/data/dataset_table.h
  std::string path = "auto";           // folder of the files; auto: the known places
  int64_t workers = 1;                 // reader threads
  int64_t prefetch = 3;                // global batches prepared ahead
  LastBatch last_batch = LastBatch::weighted;
  OnError on_error = OnError::stop;  // at a sample that cannot be read
  AugmentConfig augment;
  Cifar100Config cifar100;
  CsvConfig csv;
  SyntheticConfig synthetic;
  Shuffle shuffle = Shuffle::automatic;
  Normalize normalize = Normalize::automatic;
  std::vector<double> mean, stddev;  // per channel, of pixel / 255; empty: the dataset's
  Hdf5Config hdf5;
  ImageConfig image;
  TokensConfig tokens;
};

struct LossConfig {
  enum class Name { automatic, cross_entropy, mse, l1, l1_l2 };

  Name name = Name::automatic;
  double label_smoothing = 0.0;  // cross_entropy
};

struct OptimizerConfig {
  enum class Name { sgd, adam, adamw, lars, lamb };
  enum class Decay { all, matrices };

  Name name = Name::sgd;
  double lr = 0.1;
  double momentum = 0.9;  // sgd, lars
  bool nesterov = false;  // sgd
  double weight_decay = 0.0;
  Decay decay = Decay::all;           // which weights decay
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw, lamb
  double epsilon = 1e-8;              // adam, adamw, lamb
  double trust_coefficient = 0.001;   // lars
  double clip_norm = 0.0;             // global gradient norm; 0: no clipping
};

// Exponential moving average of the weights; evaluation uses it.
struct EmaConfig {
  double decay = 0.0;   // 0: none
  bool warmup = false;  // smaller decay in the first steps
};

// The dynamic loss scale of precision: fp16.
struct LossScaleConfig {
  double initial = 65536.0;
  double minimum = 1.0;
  int64_t growth_interval = 2000;  // good steps after which it doubles
  int64_t max_skips = 50;          // skipped steps in a row that end the run
};

// Scaling of optimizer.lr with the global batch.
struct LrConfig {
  enum class Scaling { none, linear, sqrt };

  Scaling scaling = Scaling::none;
  int64_t base_batch = 256;  // the global batch for which optimizer.lr is meant
};

struct ScheduleConfig {
  enum class Name { constant, step, multistep, cosine, linear, polynomial };

  Name name = Name::constant;
  double warmup_epochs = 0.0;
  int64_t warmup_steps = 0;                   // wins over warmup_epochs when set
  double step_epochs = 10.0;                  // step: epochs between drops
  int64_t step_steps = 0;                     // wins over step_epochs when set
  std::vector<int64_t> milestones = {};       // multistep: epochs after which it drops
  std::vector<int64_t> milestone_steps = {};  // wins over milestones when given
  double gamma = 0.1;                         // step, multistep: factor of a drop
  double min_lr = 0.0;                        // cosine, linear, polynomial: where they end
  double power = 2.0;                         // polynomial
};

struct EvalConfig {
  int64_t every_epochs = 1;  // 0: none by epochs
  int64_t every_steps = 0;   // 0: none by steps
  int64_t samples = 0;       // test samples whose outputs are written to files; 0: none
};

// Ends the run when its metric no longer improves.
struct EarlyStopConfig {
  int64_t patience = 0;    // evaluations without improvement; 0: never stops early
  double min_delta = 0.0;  // smallest change of the metric that counts
};

struct CheckpointConfig {
  enum class Snapshot { automatic, always, never };

  int64_t every_steps = 0;   // 0: at the end of epochs only
  int64_t every_epochs = 1;  // 0: never by epoch
  int64_t keep_last = 3;
  int64_t keep_every_steps = 0;  // checkpoints at multiples of it are never deleted; 0: none
  Snapshot snapshot = Snapshot::automatic;  // write from a copy of the state
};

// Gradients are reduced in buckets of about this size while backward goes on.
struct BucketConfig {
  double first_mib = 0.25;  // of the first bucket: small, so that reduction starts early
  double mib = 8.0;
};

struct MemoryConfig {
  enum class Recompute { none, blocks };

  std::string limit = "auto";             // per device: auto, bytes or a fraction (memory_limit.h)
  Recompute recompute = Recompute::none;  // blocks: backward computes activations again
};

// Options of GPUs; CPUs ignore them.
struct CudaConfig {
  enum class Attention { automatic, own };
  enum class Peer { automatic, direct, nccl };

  bool graphs = true;                          // record a tower's work once and replay it
  bool tf32 = false;                           // fp32 products in TF32: 10 bits of fraction
  bool autotune = true;                        // measure cuDNN's engines once and keep the fastest
  std::string autotune_cache = "auto";         // file of the measurements: auto, none or a path
  Attention attention = Attention::automatic;  // cuDNN where it can, or Spire's kernels
  Peer peer = Peer::automatic;                 // how GPUs of a process exchange data
};

struct CheckConfig {
  int64_t replicas_every = 0;  // steps; 0: only at checkpoints
};

// Deadlines in seconds; a rank that misses one counts as lost.
struct TimeoutConfig {
  double start = 300.0;
  double step = 600.0;
  double checkpoint = 1800.0;
  double silence = 60.0;
};

struct LogConfig {
  int64_t every_steps = 50;     // steps between two lines of metrics.jsonl
  double every_seconds = 10.0;  // between two progress lines where stderr is no terminal
};

struct RunConfig {
  enum class Pin { automatic, yes, no };
  enum class Strategy { parameter_device, mirrored, sharded };
  enum class Reduction { invariant, native };
  enum class Precision { fp32, bf16, fp16 };

  ModelConfig model;
  DataConfig data;
  LossConfig loss;
  int64_t batch_size = 128;              // samples a tower a step
  std::optional<int64_t> global_batch;   // batch_size x towers, or instead of batch_size
  std::optional<int64_t> towers;         // default: number of devices
  std::optional<int64_t> tower_threads;  // CPU threads a tower; default: cores / towers
  std::vector<std::string> devices = {"auto"};
  Pin pin = Pin::automatic;  // of lanes to cores
  std::string parameter_device = "auto";
  Strategy strategy = Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  BucketConfig bucket;
  MemoryConfig memory;
  CudaConfig cuda;
  Precision precision = Precision::fp32;
  OptimizerConfig optimizer;
  EmaConfig ema;
  LossScaleConfig loss_scale;
  LrConfig lr;
  ScheduleConfig schedule;
  int64_t epochs = 10;
  std::optional<int64_t> steps;  // ends the run earlier or later than epochs, if given
  EvalConfig eval;
  EarlyStopConfig early_stop;
  CheckpointConfig checkpoint;
  CheckConfig check;
  LogConfig log;
  TimeoutConfig timeouts;
  bool elastic = false;  // after a failure, restart on the processes that are left
  uint64_t seed = 7;
  std::string output = "runs/spire";
};

}  // namespace spire
