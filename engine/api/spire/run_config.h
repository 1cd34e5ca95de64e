// Config of a run as plain structs and enums, with the default of each member. A row of
// engine/config/schema_*.cpp has its YAML key, range and help. In YAML an enumerator is its name,
// except: automatic is auto, yes is true, no is false, classes is class, values is value.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/layer_config.h>

namespace spire {

// What a model learns to predict from a table or arrays: a class label, or numbers.
enum class TargetKind { automatic, classes, values };

// Comments name the models that use a member. An empty list means the model's default.
struct ModelConfig {
  enum class Variant { cifar, imagenet };
  enum class Shortcut { projection, identity };
  enum class BatchNorm { tower, sync };
  enum class Normalization { none, batch_norm };
  enum class Upsample { conv_transpose, resize };
  enum class OutputActivation { linear, sigmoid };

  std::string name = "auto";  // a row of the table in models/model.cpp; auto: by the data

  std::vector<int64_t> hidden = {};    // mlp, cnn, autoencoder: widths of the dense layers
  std::vector<int64_t> channels = {};  // cnn, unet, autoencoder: channels of the convolutions

  int64_t depth = 20;                        // resnet, vgg: number of layers
  Variant variant = Variant::cifar;          // resnet
  Shortcut shortcut = Shortcut::projection;  // resnet: shortcuts where the shape changes
  double dropout = 0.0;                      // mlp, cnn, vgg, gpt, vit: probability
  BatchNorm batch_norm = BatchNorm::tower;   // statistics over one tower's samples, or all towers'
  Normalization normalization =
      Normalization::none;                       // cnn, vgg, unet, autoencoder: after a convolution
  Upsample upsample = Upsample::conv_transpose;  // unet, autoencoder
  OutputActivation output_activation = OutputActivation::linear;  // unet, autoencoder

  std::string size = "auto";  // a row of engine/config/transformer_sizes.h
  std::optional<int64_t> blocks = {}, width = {}, heads = {};  // gpt, vit: override `size`
  std::optional<int64_t> context = {};  // gpt: longest input, tokens; default: the data's length
  int64_t patch = 16;                   // vit: side of a patch, pixels
  double epsilon = 0.0;                 // of norms; 0: the model's (gpt 1e-5, vit 1e-6, llama 1e-5)
  std::optional<int64_t> kv_heads = {};   // llama: heads of keys and values; default: by `size`
  std::optional<int64_t> mlp_width = {};  // llama: of the hidden layer; default: by `size`
  double rope_theta = 0.0;                // llama: base of rotary positions; 0: by `size`
  bool tied_head = false;                 // llama: the head shares the table of tokens

  std::vector<LayerConfig> layers = {};  // name == "layers": the model, layer by layer
};

// Each factor is drawn at random from [max(0, 1 - strength), 1 + strength].
struct ColorJitterConfig {
  double brightness = 0.0, contrast = 0.0, saturation = 0.0;  // strengths; 0: off

  bool operator==(const ColorJitterConfig&) const = default;
};

// Random affine map about the image's centre, drawn anew for each sample and epoch.
struct AffineConfig {
  double rotate = 0.0;     // at most so many degrees either way
  double translate = 0.0;  // at most this share of height and width, either way
  double scale = 0.0;      // factor from [1 - scale, 1 + scale]
  double shear = 0.0;      // at most so many degrees either way

  bool operator==(const AffineConfig&) const = default;
};

// RandAugment: `count` operations, drawn at random for each image, of strength `magnitude`.
struct RandAugmentConfig {
  int64_t count = 0;       // operations per image; 0: off
  double magnitude = 9.0;  // 0 to 30

  bool operator==(const RandAugmentConfig&) const = default;
};

// Random erasing: a rectangle of the image becomes 0, after normalization.
struct EraseConfig {
  double probability = 0.0;                   // 0: off
  double min_share = 0.02, max_share = 0.33;  // of the image's area

  bool operator==(const EraseConfig&) const = default;
};

struct AugmentConfig {
  int64_t crop = 0;                  // zero padding before a random crop, pixels; 0: off
  bool flip = false;                 // horizontal flip with probability 1/2
  bool random_resized_crop = false;  // a random part of the image, resized to data.image.size
  double min_scale = 0.08;           // random_resized_crop: smallest share of the image's area
  ColorJitterConfig color_jitter = {};
  AffineConfig affine = {};
  RandAugmentConfig rand_augment = {};
  EraseConfig erase = {};
  double mixup = 0.0, cutmix = 0.0;  // alpha of Beta(alpha, alpha); 0 turns it off

  bool operator==(const AugmentConfig&) const = default;
};

struct Cifar100Config {
  enum class Labels { fine, coarse };

  Labels labels = Labels::fine;
};

struct CsvConfig {
  enum class Header { automatic, yes, no };
  enum class Separator { automatic, comma, semicolon, tab, pipe, space };
  enum class Decimal { automatic, point, comma };
  enum class Dates { automatic, month_first, day_first };
  enum class Categories { one_hot, embedding, refuse };
  enum class Blanks { mean, median, zero, refuse };

  Header header = Header::automatic;
  Separator separator = Separator::automatic;
  std::string target = "last";  // a column: "last", its name, or its number from 0
  TargetKind task = TargetKind::automatic;
  double test_share = 0.1;  // share of the rows kept for testing, if there is no test.csv
  // Columns to leave out, by name or number from 0; auto: those that help no model (formats.md).
  std::vector<std::string> ignore = {"auto"};
  Decimal decimal = Decimal::automatic;         // mark of decimals: 1.5 or 1,5
  Dates dates = Dates::automatic;               // order of day and month in 3/4/2024
  std::vector<std::string> missing = {"auto"};  // texts of empty fields; auto: NA, NaN, #N/A, ...
  Categories categories = Categories::one_hot;  // how columns of words become numbers
  int64_t max_levels = 64;                      // most different words of a column; more: an error
  Blanks blanks = Blanks::mean;                 // what an empty number becomes
  bool scale_target = true;                     // values are learned as (value - mean) / stddev
};

// Dataset of random samples.
struct SyntheticConfig {
  enum class Kind { images, features, tokens };

  Kind kind = Kind::images;
  std::vector<int64_t> shape = {32, 32, 3};  // images (H, W, C), features (F), tokens (T)
  int64_t classes = 10;                      // tokens: size of the vocabulary
  int64_t samples = 50000, test_samples = 10000;
};

// Names of the arrays with inputs and targets, one row a sample, for training or testing. hdf5:
// paths within the file; auto: in the group train or test, the dataset images, features or tokens
// as input, and labels, values, targets, target_images or masks as target. npy: names of files, or
// of an archive's entries, without .npy; auto: docs/formats.md#numpy.
struct ArrayNames {
  std::string input = "auto", target = "auto";
};

struct Hdf5Config {
  ArrayNames train, test;
  TargetKind task = TargetKind::automatic;
  int64_t cache_mib = 256;  // memory for decoded chunks
};

// Arrays of NumPy, in a folder or an archive.
struct NpyConfig {
  ArrayNames train, test;
  TargetKind task = TargetKind::automatic;
  double test_share = 0.1;  // share of the rows kept for testing, if there is no x_test
};

struct ImageConfig {
  enum class Fit { crop, pad, squash };

  int64_t size = 0;       // side in pixels; 0: 224 for image_folder and webdataset, else as stored
  int64_t eval_size = 0;  // side in evaluations; 0: `size`
  Fit fit = Fit::crop;    // how an image of another shape becomes a square
  double test_share = 0.1;  // of each class, kept for testing if there are no folders for it
};

// Pairs of images: each input has a target of the same size.
struct PairsConfig {
  enum class Target { image, mask };

  Target target = Target::image;
  int64_t classes = 0;         // of masks; 0: as many as the masks contain
  int64_t ignore_label = 255;  // pixels of masks with this value count nowhere; -1: none
  double test_share = 0.1;     // of the pairs, kept for testing if the files have no such part
};

// Makes pairs of single images: the model reads a degraded copy and learns the image itself.
struct DegradeConfig {
  enum class Kind { none, noise, downscale };
  enum class Upscale { nearest, bicubic };

  Kind kind = Kind::none;
  double noise = 0.1;  // noise: standard deviation, of pixels from 0 to 1
  int64_t scale = 2;   // downscale: squares of scale x scale pixels become their mean
  Upscale upscale = Upscale::bicubic;  // downscale: how the copy gets the image's size again
};

struct TokensConfig {
  enum class Vocabulary { automatic, bytes, characters, gpt2 };
  enum class Documents { joined, packed };

  int64_t length = 256;                     // tokens per sample
  std::vector<std::string> text = {};       // files of text or documents, folders; empty: shards
  std::string field = "text";               // key or column of a document's text
  Documents documents = Documents::joined;  // packed: attention does not cross their borders
  Vocabulary vocabulary = Vocabulary::automatic;
  std::string bpe_path = "auto";  // gpt2: folder of its files, or tokenizer.json
  double val_share = 0.1;         // share of the text, at its end, kept for evaluation
};

// Data that decides the best checkpoint and early stopping; tests then run once, at the end.
struct ValConfig {
  double share = 0.0;         // of the training samples, of each class alike; 0: none
  std::string path = "none";  // files of their own, in the form of data.path
};

struct DataConfig {
  enum class LastBatch { weighted, drop };
  enum class OnError { stop, skip };
  enum class Shuffle { automatic, full, chunk };
  enum class Normalize { automatic, standard, unit };

  std::string name = "fashion_mnist";  // a row of engine/data/dataset_table.h
  std::string path = "auto";           // folder of the files, or a file; auto: usual places
  int64_t workers = 1;                 // reader threads
  int64_t prefetch = 3;                // global batches prepared ahead
  LastBatch last_batch = LastBatch::weighted;
  OnError on_error = OnError::stop;  // what to do if a sample cannot be read
  AugmentConfig augment;
  Cifar100Config cifar100;
  CsvConfig csv;
  SyntheticConfig synthetic;
  Shuffle shuffle = Shuffle::automatic;
  Normalize normalize = Normalize::automatic;
  std::vector<double> mean, stddev;  // per channel, of pixel / 255; empty: the dataset's own
  Hdf5Config hdf5;
  NpyConfig npy;
  ImageConfig image;
  PairsConfig pairs;
  DegradeConfig degrade;
  TokensConfig tokens;
  ValConfig val;
};

// Whose names and layouts a file of weights has (docs/weights.md).
enum class WeightNames { automatic, spire, pytorch, torchvision, huggingface };

// Weights from which a new run starts, in place of random ones.
struct InitConfig {
  std::string from = "none";  // a run, a checkpoint, safetensors (file, index or folder), or none
  WeightNames names = WeightNames::automatic;  // auto: found from the file's tensors
  std::vector<std::string> map = {};   // "theirs:ours": renames tensors of the file, or prefixes
  std::vector<std::string> skip = {};  // patterns: parameters that start at random
  bool strict = true;  // false: what the file lacks or has in another shape starts at random
};

struct LossConfig {
  enum class Name { automatic, cross_entropy, focal, binary, mse, l1, l1_l2, huber };

  Name name = Name::automatic;
  double label_smoothing = 0.0;            // cross_entropy
  std::vector<double> class_weights = {};  // cross_entropy, focal: (classes); empty: all 1
  double focal_gamma = 2.0;                // focal
  double huber_delta = 1.0;                // huber
  double z_loss = 0.0;  // cross_entropy: weight of the squared log of softmax's denominator
};

// A teacher, from whose outputs the model learns besides the labels (Hinton et al., 2015).
struct DistillConfig {
  std::string from = "none";  // a run or a checkpoint
  double temperature = 4.0;   // divides the logits of both models
  double weight = 0.5;        // of the teacher's loss; the labels' loss has 1 - weight
  std::string hash = "auto";  // of the teacher's weights, 16 hex digits; auto: not checked
};

// Low-rank adaptation: dense layers keep their weights and learn a product of rank `rank`.
struct LoraConfig {
  int64_t rank = 0;                        // 0: off
  double alpha = 16.0;                     // the product is scaled by alpha / rank
  std::vector<std::string> patterns = {};  // of names of dense layers; empty: all of them
};
struct AdaptConfig {
  LoraConfig lora;
};

struct WeightFactor {
  std::string pattern;  // of names of parameters, as in a shell: "stem.*"
  double factor = 1.0;
  bool operator==(const WeightFactor&) const = default;
};

// Comments name the optimizers that use a member, if not all do.
struct OptimizerConfig {
  enum class Name { sgd, adam, adamw, lars, lamb };
  enum class Decay { all, matrices };

  Name name = Name::sgd;
  double lr = 0.1;
  std::vector<WeightFactor> lr_factors = {}, decay_factors = {};  // the first that matches counts
  double momentum = 0.9;                                          // sgd, lars
  bool nesterov = false;                                          // sgd
  double weight_decay = 0.0;
  Decay decay = Decay::all;           // which weights decay; matrices: no biases
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw, lamb
  double epsilon = 1e-8;              // adam, adamw, lamb
  double trust_coefficient = 0.001;   // lars
  double clip_norm = 0.0;             // largest norm of the whole gradient; 0: no clipping
  std::shared_ptr<const class Optimizer> own = nullptr;  // the program's (optimizer.h)
};

// Exponential moving average of the weights; evaluation uses it.
struct EmaConfig {
  double decay = 0.0;   // 0 turns it off
  bool warmup = false;  // use a smaller decay in the first steps
};

// Dynamic loss scale of precision: fp16.
struct LossScaleConfig {
  double initial = 65536.0;
  double minimum = 1.0;
  int64_t growth_interval = 2000;  // steps in a row without overflow after which it doubles
  int64_t max_skips = 50;          // skipped steps in a row after which the run fails
};

// Scaling of optimizer.lr with the global batch.
struct LrConfig {
  enum class Scaling { none, linear, sqrt };

  Scaling scaling = Scaling::none;
  int64_t base_batch = 256;  // global batch for which optimizer.lr is meant
};

struct ScheduleConfig {
  enum class Name { constant, step, multistep, cosine, linear, polynomial };

  Name name = Name::constant;
  double warmup_epochs = 0.0;
  int64_t warmup_steps = 0;                   // used instead of warmup_epochs if > 0
  double step_epochs = 10.0;                  // step: epochs between drops
  int64_t step_steps = 0;                     // used instead of step_epochs if > 0
  std::vector<int64_t> milestones = {};       // multistep: epochs after which it drops
  std::vector<int64_t> milestone_steps = {};  // used instead of milestones if not empty
  double gamma = 0.1;                         // step, multistep: factor of a drop
  double min_lr = 0.0;                        // cosine, linear, polynomial: rate at the end
  double power = 2.0;                         // polynomial: exponent
};

struct EvalConfig {
  int64_t every_epochs = 1;  // epochs between evaluations; 0: none by epochs
  int64_t every_steps = 0;   // further evaluations at multiples of it; 0: none
  int64_t samples = 0;       // test samples whose outputs each evaluation writes to files; 0: none
  std::vector<std::string> metrics = {};  // further metrics: names of the table of metrics
};

// Which evaluation counts as the best.
struct BestConfig {
  enum class Mode { automatic, max, min };

  std::string metric = "auto";  // "loss" or a metric's name; auto: the task's
  Mode mode = Mode::automatic;
};

// Chain of hashes over a run's steps, from which `trainer audit` proves its computation.
struct AuditConfig {
  bool chain = true;
  int64_t weights_every_steps = 0;  // steps between hashes of the weights; 0 (auto): by the size
};

// Ends the run when its metric no longer improves.
struct EarlyStopConfig {
  int64_t patience = 0;    // evaluations in a row without improvement; 0 turns it off
  double min_delta = 0.0;  // smallest change of the metric that counts
};

struct CheckpointConfig {
  enum class Snapshot { automatic, always, never };

  int64_t every_steps = 0;       // steps between checkpoints; 0: none by steps
  int64_t every_epochs = 1;      // epochs between checkpoints; 0: none by epochs
  int64_t keep_last = 3;         // newest checkpoints to keep, besides the best
  int64_t keep_every_steps = 0;  // checkpoints at multiples of it are never deleted; 0: none
  Snapshot snapshot = Snapshot::automatic;  // whether to write from a copy of the state
};

// Sizes of buckets: ranges of the gradient, each summed over devices while backward goes on.
struct BucketConfig {
  double first_mib = 0.25;  // first bucket: small, so that the summing starts early
  double mib = 0.0;         // all others; 0: 8 between CPUs, 25 to 64 between GPUs
};

struct MemoryConfig {
  enum class Recompute { none, blocks };

  std::string limit = "auto";             // per device: auto, bytes or a fraction
  Recompute recompute = Recompute::none;  // blocks: backward computes activations again
};

// Options of GPUs; a run on CPUs ignores them.
struct CudaConfig {
  enum class Attention { automatic, own };
  enum class Peer { automatic, direct, nccl };

  bool graphs = true;                   // record a tower's work as a CUDA graph and replay it
  bool tf32 = false;                    // fp32 matrix products in TF32: 10 bits of fraction
  bool autotune = true;                 // measure engines of libraries once, keep the fastest
  std::string autotune_cache = "auto";  // file that keeps the measurements: auto, none, a path
  Attention attention = Attention::automatic;  // auto: cuDNN where it can; own: Spire's kernels
  Peer peer = Peer::automatic;                 // how GPUs of a process exchange data
};

struct CheckConfig {
  int64_t replicas_every = 0;  // steps between comparisons of all replicas; 0: only at checkpoints
};

// What to do about a bad step, whose loss or gradient norm is not finite or is an outlier.
struct GuardConfig {
  enum class OnBadStep { stop, skip, rollback };

  OnBadStep on_bad_step = OnBadStep::stop;
  double loss_zscore = 0.0, grad_zscore = 0.0;  // bad beyond so many standard deviations; 0: off
  int64_t window = 100;                         // good steps that give mean and deviation
  int64_t max_skips = 10;                       // bad steps in a row; one more fails the run
  int64_t max_rollbacks = 3;                    // in the whole run; one more fails it
};

// Deadlines in seconds; a rank that misses one counts as lost.
struct TimeoutConfig {
  double devices = 0.0;        // waiting for idle GPUs (devices: auto:N)
  double start = 300.0;        // until all processes are connected and ready
  double step = 600.0;         // for one step
  double checkpoint = 1800.0;  // for writing or reading a checkpoint
  double silence = 60.0;       // without a message from a process
};

struct LogConfig {
  int64_t every_steps = 50;      // steps between two lines of metrics.jsonl
  int64_t hash_every_steps = 0;  // steps between two hashes of the weights there; 0: none
  double every_seconds = 10.0;   // between progress lines if stderr is no terminal
  bool tensorboard = false;      // event files in the run directory, with what metrics.jsonl has
};

// Watching a run. Addresses are "HOST:PORT", "PORT" (for this machine alone), or "none".
struct MonitorConfig {
  double every_seconds = 1.0;       // between two readings of the devices' state; 0: none
  std::string prometheus = "none";  // where Prometheus may read the run's metrics
  std::string serve = "none";       // where browsers find the live page
};

struct RunConfig {
  enum class Pin { automatic, yes, no };
  enum class OnMissing { fail, fewer, any, cpu };  // any: the least loaded others
  // Who updates: one device all weights, each device all (mirrored), or each its share (sharded).
  enum class Strategy { parameter_device, mirrored, sharded };
  // How gradients are summed: in a fixed order, with the same bits on any devices, or as NCCL does.
  enum class Reduction { invariant, native };
  enum class GradientDtype { fp32, bf16 };  // of each tower, before they are added up in fp32
  enum class Precision { fp32, bf16, fp16, exact };

  ModelConfig model;
  InitConfig init;
  DataConfig data;
  LossConfig loss;
  DistillConfig distill;
  AdaptConfig adapt;
  int64_t batch_size = 128;              // samples per tower per step; 0 (auto): the most that fit
  std::optional<int64_t> global_batch;   // samples per step; batch_size is its share, rounded up
  std::optional<int64_t> towers;         // shares of a global batch; default: one per device
  std::optional<int64_t> tower_threads;  // CPU threads per tower; default: cores / towers
  std::vector<std::string> devices = {"auto"};
  OnMissing on_missing = OnMissing::fail;          // what to do if some of the devices are missing
  Pin pin = Pin::automatic;                        // of computing threads to cores
  std::string parameter_device = "auto";           // has the master weights and the optimizer state
  Strategy strategy = Strategy::parameter_device;  // who updates the weights
  Reduction reduction = Reduction::invariant;      // how gradients are summed
  GradientDtype reduction_dtype = GradientDtype::fp32;
  BucketConfig bucket;
  MemoryConfig memory;
  CudaConfig cuda;
  Precision precision = Precision::fp32;
  std::vector<std::string> freeze = {};  // patterns of names of parameters that do not train
  bool freeze_batch_norm = true;  // a batch norm with frozen parameters uses its running statistics
  OptimizerConfig optimizer;
  EmaConfig ema;
  LossScaleConfig loss_scale;
  LrConfig lr;
  ScheduleConfig schedule;
  int64_t epochs = 10;
  std::optional<int64_t> steps;  // length of the run; used instead of epochs if given
  double max_time = 0;           // seconds that the process may run; 0: no limit
  EvalConfig eval;
  BestConfig best;
  EarlyStopConfig early_stop;
  CheckpointConfig checkpoint;
  CheckConfig check;
  GuardConfig guard;
  AuditConfig audit;
  LogConfig log;
  MonitorConfig monitor;
  TimeoutConfig timeouts;
  bool elastic = false;  // after a failure, restart with the processes that are left
  uint64_t seed = 7;
  std::string output = "runs/spire";
};

}  // namespace spire
