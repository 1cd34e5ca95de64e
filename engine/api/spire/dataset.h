// Datasets: the columns of their samples, the interface that a run reads them by, and datasets in
// the memory of the calling program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <spire/export.h>
#include <spire/tensor.h>

namespace spire {

// Schema of a dataset's samples: the columns of a batch, classes, normalization and names.

// A column: one of the tensors of a batch, with one row per sample. Names that models know, with
// the shape and dtype of a row:
//   images (H, W, C), features (F)   compute dtype      input of a model
//   features (T, F)                  compute dtype      sequences, input of a model of layers
//   tokens (T)                       i32                input of a language model
//   labels ()                        i32                class in [0, classes)
//   targets (T)                      i32                the token that follows each token
//   positions (T)                    i32                place of each token in its document's part
//                                                       of the row, from 0 (packed documents)
//   values (K)                       f32                targets of a regression
//   target_images (H, W, C)          compute dtype      the image to make of `images`, from 0 to 1
//   masks (H, W)                     i32                class of each pixel, or -1: it has none
//   other_labels (), mix ()          i32, f32           for mixed samples (images/mix.h): the loss
//                                                       counts labels with weight mix, and
//                                                       other_labels with weight 1 - mix
struct Column {
  std::string name;
  Shape shape = {};  // of one row; () is a single number
  DType dtype = DType::f32;

  size_t row_bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  bool operator==(const Column&) const = default;
};

// Standardization (x - mean) / stddev of each channel of images, each feature, or each value; x is
// pixel / 255 for images of 8 bits, pixel / 65535 for those of 16 bits, else the stored number.
struct Normalization {
  std::vector<double> mean, stddev;  // (C), (F) or (K), stddev > 0; empty: x stays as it is

  bool operator==(const Normalization&) const = default;
};

// How the numbers of a table's column are written.
enum class FieldForm {
  plain,        // 1234.5, -1e3
  point,        // also 1,234.5 and 1 234.5, with a unit
  comma,        // 1234,5; 1.234,5; 1 234,5, with a unit
  date,         // 2024-12-31, 31 Dec 2024, with or without a time of day
  month_first,  // also 12/31/2024
  day_first,    // also 31/12/2024 and 31.12.2024
  time          // 23:59:30
};

inline constexpr int64_t date_features = 5;  // year, month, day, weekday, seconds of the day

// How a column of a table becomes features of a sample: a column of numbers becomes one, a column
// of dates date_features, a column of words one for each of its levels, which is 1 where the field
// is that word and 0 elsewhere.
struct TableColumn {
  std::string name = {};                 // in the table's header; empty if it has none
  std::vector<std::string> levels = {};  // words, ascending; empty: a column of numbers
  bool embedded = false;                 // models learn a vector for each level
  // What an empty field counts as: this number, or of words the level "" (all zeros if there is
  // none). Without a value empty fields are refused.
  std::optional<double> blank = {};
  FieldForm form = FieldForm::plain;    // of its numbers
  std::string unit = {};                // beside each number: "%", "$"; empty: none
  std::vector<std::string> marks = {};  // of empty fields; empty: those that `auto` stands for

  bool has_dates() const { return form >= FieldForm::date && form != FieldForm::time; }
  int64_t features() const {
    if (!levels.empty()) return static_cast<int64_t>(levels.size());
    return has_dates() ? date_features : 1;
  }
  bool operator==(const TableColumn&) const = default;
};

struct SPIRE_API SampleSpec {   // what a model is built for; every checkpoint contains it
  std::vector<Column> columns;  // the first one is the model's input
  int64_t classes = 0;          // of labels or masks; for tokens the vocabulary's size; else 0
  std::vector<std::string> class_names = {};    // (classes); empty if unknown
  Normalization normalization = {};             // of images or features
  std::vector<std::string> feature_names = {};  // (F); empty if unknown
  std::string vocabulary = {};                  // text for make_vocabulary(); empty if unknown
  std::vector<TableColumn> table = {};  // columns that make the features; empty: all are numbers
  // Of values (K), which stay in their own unit: models learn (value - mean) / stddev, and their
  // outputs are in the values' unit. Empty: models learn the values.
  Normalization target_scale = {};
  TableColumn target = {};  // how a table's target is written: form and unit

  const Column* find(const std::string& name) const;  // null if no column has this name
  bool operator==(const SampleSpec&) const = default;
};

// Interface of datasets, which read samples by index.

inline constexpr size_t max_problems = 20;  // messages kept about corrupt samples

// Checksums of stored rows: hash64 of each column over rows [i * rows, (i + 1) * rows).
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};  // [column][i]
};

class SPIRE_API Dataset {  // all methods are thread-safe
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // number of samples, >= 1

  // Writes column c of samples[r] to columns[c] + r * spec().columns[c].row_bytes(), a function of
  // (dataset, sample, epoch). Throws Error(data), naming file and sample, for a corrupt sample.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Splits the samples in two, by a mark for each: a sample that cannot be read is then replaced by
  // one of its own part. Called before any read(), at most once.
  virtual void separate(const std::vector<bool>&) {}

  // Returns how many corrupt samples were left out so far (data.on_error: skip). Those that were
  // found on opening are not in count().
  virtual int64_t skipped() const { return 0; }
  // Returns the messages about corrupt samples, at most max_problems.
  virtual std::vector<std::string> problems() const { return {}; }
  std::string first_problem() const;  // empty if there is none

  // Returns the chunk size: samples [i * chunk(), (i + 1) * chunk()) are stored together.
  virtual int64_t chunk() const { return 1; }

  // Reads only the labels, of samples first, first + 1, ... Throws what read() throws.
  virtual void read_labels(int64_t first, std::span<int32_t> out) const;

  // Returns the row checksums that the files contain; nullopt if they contain none.
  virtual std::optional<RowChecksums> checksums() const { return {}; }
  // Verifies checksums of other kinds in the files. Throws Error(data) for the first mismatch.
  virtual void verify_files() const {}

  // Describes how the data is stored, one line per part.
  virtual std::vector<std::string> layout() const { return {}; }
  // Returns the files that are read; empty if samples are generated.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

struct DatasetPair {
  // With equal specs, but for the size of images (data.image.eval_size).
  std::unique_ptr<Dataset> train, test;
  std::vector<std::string> notes = {};  // for the user: ignored columns, unused datasets
  std::unique_ptr<Dataset> val = {};    // data.val: of the spec of `test`; null: there is none
  // What keys of the config that are auto stand for: {"data.csv.separator", "tab"}.
  std::map<std::string, std::string> found = {};

  // The data that decides which checkpoint is best: `val`, or without it `test`.
  const Dataset& selection() const { return val ? *val : *test; }
};

struct ReadOptions {         // how a run reads its data
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // for augmentation and for the windows of tokens
  // true: as stored: images u8, features f32 or f64, not augmented, not normalized (see spec()).
  bool stored = false;
  // true: training samples are read as test samples are: not augmented, images in the size of
  // evaluations, windows of tokens in place.
  bool plain = false;
  // The data of a trained model, for which tables are encoded as then; null: a model to be trained.
  std::shared_ptr<const SampleSpec> trained = {};
  // true: classes and vocabulary are those of `trained`, of which the files may lack some, as
  // validation data does.
  bool trained_classes = false;
  // true: where no file is named as test data all samples are, not a share of them. The training
  // data are then the same samples.
  bool all_test = false;

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the data of a run on each rank, for the run's precision and seed.
using DataSource = std::function<DatasetPair(const ReadOptions& options)>;

// Datasets in the memory of the calling program: arrays, or a function that writes samples.

// An array of samples. Column (above) tells which names models know.
struct Array {
  std::string column;          // "images", "labels" or another name of Column
  const void* data = nullptr;  // on the host; on a GPU with `device`
  DType dtype = DType::f32;    // of `data`: f32, f64, u8 or i32; for images u8 stands for x / 255
  Shape shape;                 // (N, row): (N, H, W, C), (N, F), (N, T), (N)
  // Elements from one index of each axis to the next; empty: dense, the last axis is contiguous.
  std::vector<int64_t> strides = {};
  // cuda:N: `data` is on that GPU, complete; it is copied to the host when the dataset is made.
  DeviceId device = {};
};

template <typename T>
concept ArrayNumber = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, uint8_t>;

// Class and token numbers are int32_t or uint8_t: convert those of 64 bits.
template <ArrayNumber T>
Array array(std::string column, const T* data, Shape shape, std::vector<int64_t> strides = {}) {
  return {std::move(column), data, dtype_of<T>::value, shape, std::move(strides)};
}

struct ArrayOptions {
  // Number of classes, for tokens without labels the vocabulary's size; 0: the largest number + 1.
  int64_t classes = 0;
  std::vector<std::string> class_names = {};
  Normalization normalization = {};  // recorded in checkpoints; the values are taken as they are
  // Whether the dataset copies the arrays when it is made; else they outlive it unchanged. The
  // datasets of an array_source() are made when the run opens its data.
  bool copy = false;
};

// Returns a dataset of the arrays, which are read in place. Images and features become read.dtype.
// Throws Error(data) for arrays of different N, for none, for a shape that does not suit the
// column, labels out of range, positions that are not those of packed documents, or an array that
// is null.
SPIRE_API std::unique_ptr<Dataset> array_dataset(const std::vector<Array>& arrays,
                                                 const ArrayOptions& options = {},
                                                 const ReadOptions& read = {});
// The data of a run from arrays; without test arrays, evaluations read the training data.
SPIRE_API DataSource array_source(std::vector<Array> train, std::vector<Array> test = {},
                                  ArrayOptions options = {});

// Writes one sample: column c to rows[c], values of spec.columns[c].dtype. Called by several
// threads at a time; a function of (sample, epoch) alone, so that runs repeat.
using ReadSample =
    std::function<void(int64_t sample, int64_t epoch, const std::vector<std::byte*>& rows)>;

// Returns a dataset of `count` samples that `read` writes; what it throws ends the run.
SPIRE_API std::unique_ptr<Dataset> function_dataset(SampleSpec spec, int64_t count,
                                                    ReadSample read);

}  // namespace spire
