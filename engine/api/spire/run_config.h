// A run's config as plain structs. Every field has its default here; its range, one-line
// description and YAML key stand in schema.cpp, from which parsing, --help-config and
// --print-config are made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/layer_config.h>

namespace spire {

struct ModelConfig {
  std::string name = "auto";           // auto | linear | mlp | lenet | cnn | resnet | vgg | unet |
                                       // autoencoder | gpt | vit | layers; auto: as the data has it
  std::vector<int64_t> hidden = {};    // mlp, cnn: widths of the dense layers; empty: the model's
                                       // own; autoencoder: of those around its code; empty: none
  std::vector<int64_t> channels = {};  // cnn, unet, autoencoder: of the conv layers; empty: the
                                       // model's own
  int64_t depth = 20;                  // resnet, vgg: layers
  std::string variant = "cifar";       // resnet: cifar | imagenet
  std::string shortcut = "projection";  // resnet: projection | identity, where the shape changes
  double dropout =
      0.0;  // mlp, cnn, vgg: before the last dense layers; gpt, vit: where they have it
  std::string batch_norm = "tower";    // tower | sync: whose samples its statistics are of
  std::string normalization = "none";  // none | batch_norm, after each convolution of cnn, vgg,
                                       // unet, autoencoder
  std::string upsample = "conv_transpose";   // unet, autoencoder: conv_transpose | resize
  std::string output_activation = "linear";  // unet, autoencoder: linear | sigmoid
  std::string size = "auto";  // gpt: gpt2 | gpt2_medium | ..; vit: tiny | small | base
  std::optional<int64_t> blocks = {}, width = {},
                         heads = {};     // gpt, vit: in place of those of the size
  std::optional<int64_t> context = {};   // gpt: positions that it knows; default: the data's length
  int64_t patch = 16;                    // vit: pixels of a patch's side
  std::vector<LayerConfig> layers = {};  // layers: what the model is made of
};

// Each drawn factor lies in [1 - strength, 1 + strength], from 0 on.
struct ColorJitterConfig {
  double brightness = 0.0, contrast = 0.0, saturation = 0.0;  // strengths; 0: none

  bool operator==(const ColorJitterConfig&) const = default;
};

struct AugmentConfig {
  int64_t crop = 0;  // pixels of zero padding on each side, then a random crop of the original size
  bool flip = false;                 // horizontal flip of every second sample, by chance
  bool random_resized_crop = false;  // a part of the image, resized to data.image.size
  double min_scale = 0.08;           // random_resized_crop: least share of the image's area
  ColorJitterConfig color_jitter = {};
  double mixup = 0.0, cutmix = 0.0;  // alpha of Beta(alpha, alpha); 0: off

  bool operator==(const AugmentConfig&) const = default;
};

struct Cifar100Config {
  std::string labels = "fine";  // fine | coarse
};

struct CsvConfig {
  std::string header = "auto";     // auto | true | false
  std::string separator = "auto";  // auto | comma | semicolon | tab
  std::string target = "last";     // the column's name, or its number from 0
  std::string task = "auto";       // auto | class | value
  double test_share = 0.1;         // of one file's rows, where there is no test.csv
  // Columns that are no features, by name or number from 0; auto: those that number the rows.
  std::vector<std::string> ignore = {"auto"};
};

// Samples made from random numbers.
struct SyntheticConfig {
  std::string kind = "images";               // images | features | tokens
  std::vector<int64_t> shape = {32, 32, 3};  // images (H, W, C), features (F), tokens (T)
  int64_t classes = 10;                      // tokens: size of the vocabulary
  int64_t samples = 50000;                   // for training
  int64_t test_samples = 10000;
};

// Of one half of an HDF5 file: paths of datasets within it. auto: in the half's group, train or
// test, images, features or tokens, and labels, values or targets.
struct Hdf5Half {
  std::string input = "auto", target = "auto";
};

struct Hdf5Config {
  Hdf5Half train, test;
  std::string task = "auto";  // auto | class | value
  int64_t cache_mib = 256;    // decoded chunks in memory
};

struct ImageConfig {
  int64_t size = 0;  // pixels a side that a model reads; 0: image_folder 224, others as stored
};

struct TokensConfig {
  int64_t length = 256;                // tokens of a sample
  std::vector<std::string> text = {};  // text files; empty: token shards
  std::string vocabulary = "auto";     // auto | bytes | characters | gpt2
  std::string bpe_path = "auto";       // gpt2: folder of encoder.json and vocab.bpe
  double val_share = 0.1;              // of a text: its last part
};

struct DataConfig {
  std::string name = "fashion_mnist";   // a row of engine/data/dataset_table.h
  std::string path = "auto";            // folder of the files; auto: the known places
  int64_t workers = 1;                  // reader threads
  int64_t prefetch = 3;                 // global batches prepared ahead
  std::string last_batch = "weighted";  // weighted | drop
  std::string on_error = "stop";        // stop | skip: what a broken row does
  AugmentConfig augment;
  Cifar100Config cifar100;
  CsvConfig csv;
  SyntheticConfig synthetic;
  std::string shuffle = "auto";      // auto | full | chunk
  std::string normalize = "auto";    // auto | standard | unit
  std::vector<double> mean, stddev;  // of pixel / 255, a channel; empty: the dataset's own
  Hdf5Config hdf5;
  ImageConfig image;
  TokensConfig tokens;
};

struct LossConfig {
  std::string name = "auto";     // auto | cross_entropy | mse | l1 | l1_l2
  double label_smoothing = 0.0;  // cross_entropy
};

struct OptimizerConfig {
  std::string name = "sgd";  // sgd | adam | adamw | lars | lamb
  double lr = 0.1;
  double momentum = 0.9;  // sgd, lars
  bool nesterov = false;  // sgd
  double weight_decay = 0.0;
  std::string decay = "all";          // all | matrices: which weights decay
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw, lamb
  double epsilon = 1e-8;              // adam, adamw, lamb
  double trust_coefficient = 0.001;   // lars
  double clip_norm = 0.0;             // global gradient norm; 0: no clipping
};

// Exponential moving average of the weights, which evaluation then uses.
struct EmaConfig {
  double decay = 0.0;   // 0: none
  bool warmup = false;  // a smaller decay in the first steps
};

// The dynamic loss scale of precision: fp16.
struct LossScaleConfig {
  double initial = 65536.0;
  double minimum = 1.0;
  int64_t growth_interval = 2000;  // good steps after which it doubles
  int64_t max_skips = 50;          // steps skipped in a row after which the run stops
};

// How optimizer.lr grows with the global batch.
struct LrConfig {
  std::string scaling = "none";  // none | linear | sqrt
  int64_t base_batch = 256;      // linear, sqrt: the global batch that optimizer.lr is meant for
};

struct ScheduleConfig {
  std::string name = "constant";  // constant | step | multistep | cosine | linear | polynomial
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
  int64_t samples = 0;       // that the model's work is shown of, in files; 0: none
};

// The run ends when its metric has not improved for so many evaluations.
struct EarlyStopConfig {
  int64_t patience = 0;    // evaluations; 0: it goes to its end
  double min_delta = 0.0;  // of the metric: less is no improvement
};

struct CheckpointConfig {
  int64_t every_steps = 0;   // 0: at the end of epochs only
  int64_t every_epochs = 1;  // 0: never by epoch
  int64_t keep_last = 3;
  int64_t keep_every_steps = 0;   // checkpoints at multiples of it are never deleted; 0: none
  std::string snapshot = "auto";  // auto | always | never: written from a copy of the state
};

// Gradients are reduced in pieces of about so many MiB while backward goes on.
struct BucketConfig {
  double first_mib = 0.25;  // the first piece: small, so that it starts early
  double mib = 8.0;
};

struct MemoryConfig {
  std::string limit = "auto";      // of a device: bytes, or a fraction (memory_limit.h)
  std::string recompute = "none";  // none | blocks: computed anew in backward instead of kept
};

// How GPUs are used; nothing here is for CPUs.
struct CudaConfig {
  bool graphs = true;                   // a tower's work is recorded once and replayed
  bool tf32 = false;                    // products of fp32 in TF32: 10 bits of fraction, more speed
  bool autotune = true;                 // engines are measured once, then kept
  std::string autotune_cache = "auto";  // in this file; auto, none or a path
  std::string attention = "auto";       // auto | own: by cuDNN where it can, or never
  std::string peer = "auto";            // auto | direct | nccl: how GPUs of a process meet
};

struct CheckConfig {
  int64_t replicas_every = 0;  // steps; 0: only at checkpoints
};

// Seconds after which a part of the run that gives no sign counts as lost.
struct TimeoutConfig {
  double start = 300.0;
  double step = 600.0;
  double checkpoint = 1800.0;
  double silence = 60.0;
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
  std::string pin = "auto";  // auto | true | false: whether lanes keep to cores of their own
  std::string parameter_device = "auto";
  std::string strategy = "parameter_device";  // parameter_device | mirrored | sharded
  std::string reduction = "invariant";        // invariant | native
  BucketConfig bucket;
  MemoryConfig memory;
  CudaConfig cuda;
  std::string precision = "fp32";  // fp32 | bf16 | fp16
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
  bool elastic = false;  // after a failure, start again on the processes that are left
  uint64_t seed = 7;
  std::string output = "runs/spire";
};

}  // namespace spire
