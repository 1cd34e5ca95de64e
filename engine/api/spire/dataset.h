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
//   positions (T)                    i32                rows packed from several documents: index
//                                                       of the token, from 0, within the piece of
//                                                       its document that lies in this row
//   values (K)                       f32                targets of a regression
//   target_images (H, W, C)          compute dtype      the image to make of `images`, from 0 to 1
//   masks (H, W)                     i32                class of each pixel, or -1: it has none
//   other_labels ()                  i32                second class of a mixed sample (mixup)
//   mix ()                           f32                weight of `labels` in the loss;
//                                                       other_labels has 1 - mix
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

// How a column of a table becomes features of a sample. A column of numbers becomes one feature, a
// column of dates becomes date_features, a column of words becomes one feature per level: 1 if the
// field is that word, else 0 (one-hot).
struct TableColumn {
  std::string name = {};                 // in the table's header; empty if it has none
  std::vector<std::string> levels = {};  // words, ascending; empty: a column of numbers
  bool embedded = false;                 // models learn a vector for each level
  // Value of an empty field in a column of numbers. In a column of words the number is not used:
  // an empty field is the level "", or all features 0 without that level. nullopt: it is an error.
  std::optional<double> blank = {};
  FieldForm form = FieldForm::plain;    // of its numbers
  std::string unit = {};                // beside each number: "%", "$"; empty: none
  std::vector<std::string> marks = {};  // texts that mean an empty field; empty: NA, NaN, ...

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
  // For values (K): the model learns (value - mean) / stddev, and its outputs are scaled back to
  // the values' unit. The column `values` itself is not scaled. Empty: the model learns the values.
  Normalization target_scale = {};
  TableColumn target = {};  // how a table's target is written: form and unit

  const Column* find(const std::string& name) const;  // null if no column has this name
  bool operator==(const SampleSpec&) const = default;
};

// Interface of datasets, which read samples by index.

inline constexpr size_t max_problems = 20;  // messages kept about corrupt samples

// Checksums of stored rows: blocks[c][i] is hash64 of column c in rows [i * rows, (i + 1) * rows).
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};
};

class SPIRE_API Dataset {  // all methods are thread-safe
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // number of samples, >= 1

  // Writes column c of samples[r] to columns[c] + r * spec().columns[c].row_bytes(). The bytes
  // depend only on (dataset, sample, epoch). Throws Error(data), naming file and sample, for a
  // corrupt sample; with data.on_error: skip the next good sample is read instead.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Tells which samples are held out for validation (true) and which are for training (false): a
  // corrupt sample is then replaced only by one of its own part (data.on_error: skip). Called
  // before any read(), at most once.
  virtual void set_held_out(const std::vector<bool>&) {}

  // Returns how many corrupt samples were found so far (data.on_error: skip). count() does not
  // include samples that were found corrupt on opening.
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
  // Their specs are equal, except for the size of images (data.image.eval_size).
  std::unique_ptr<Dataset> train, test;
  std::vector<std::string> notes = {};  // for the user: ignored columns, unused datasets
  std::unique_ptr<Dataset> val = {};    // data.val, with the spec of `test`; null: there is none
  // Config key that is auto -> the value that was found: {"data.csv.separator", "tab"}.
  std::map<std::string, std::string> found = {};

  // The data that decides which checkpoint is best: `val`, or without it `test`.
  const Dataset& selection() const { return val ? *val : *test; }
};

struct ReadOptions {         // how a run reads its data
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // for augmentation and for the windows of tokens
  // true: samples as stored: images u8, features f32 or f64, not augmented, not normalized.
  bool as_stored = false;
  // true: training samples are read as test samples are: not augmented, images in the size of
  // evaluations, windows of tokens at the same offset in each epoch.
  bool as_evaluation = false;
  // Spec of a trained model: its tables are encoded as for its training. null: the model is yet to
  // be trained.
  std::shared_ptr<const SampleSpec> trained = {};
  // true: takes classes and vocabulary from `trained`; the files may lack some of them. For
  // validation data.
  bool trained_classes = false;
  // true: if no file is test data, all samples become test data instead of a share of them. The
  // training data then consists of the same samples.
  bool all_test = false;

  DType image_dtype() const { return as_stored ? DType::u8 : dtype; }
};

// Opens the data of a run; called on each rank. options: has the run's precision and seed.
using DataSource = std::function<DatasetPair(const ReadOptions& options)>;

// Datasets in the memory of the calling program: arrays, or a function that writes samples.

// An array of samples in memory that the caller owns. Column lists the names that models know.
struct Array {
  std::string column;          // "images", "labels" or another name of Column
  const void* data = nullptr;  // on the host; on a GPU with `device`
  DType dtype = DType::f32;    // of `data`: f32, f64, u8 or i32; for images u8 stands for x / 255
  Shape shape;                 // (N, row): (N, H, W, C), (N, F), (N, T), (N)
  // Elements from one index of each axis to the next; empty: dense, the last axis is contiguous.
  std::vector<int64_t> strides = {};
  // cuda:N: `data` is on that GPU, and the work that writes it has finished. A dataset copies it to
  // the host when it is made; of a full batch (Samples) dense rows of the column's dtype go from
  // there to the GPUs that train, and others by the host.
  DeviceId device = {};
};

template <typename T>
concept ArrayNumber = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, uint8_t>;

// Returns an Array of the caller's numbers. Class and token numbers must be int32_t or uint8_t:
// convert int64_t first.
template <ArrayNumber T>
Array array(std::string column, const T* data, Shape shape, std::vector<int64_t> strides = {}) {
  return {std::move(column), data, dtype_of<T>::value, shape, std::move(strides)};
}

struct ArrayOptions {
  // Number of classes, for tokens without labels the vocabulary's size; 0: the largest number + 1.
  int64_t classes = 0;
  std::vector<std::string> class_names = {};
  Normalization normalization = {};  // only recorded: the arrays must be normalized already
  // true: the arrays are copied, by array_dataset() before it returns, by array_source() only when
  // the run opens its data; they must live until then. false: the arrays must outlive the dataset,
  // unchanged.
  bool copy = false;
};

// Returns a dataset of the arrays, read in place unless options.copy. Images and features become
// read.dtype. Throws Error(data) for no arrays, arrays of different N, an array without data, a
// shape that does not suit the column, labels out of range, or positions that are not those of
// packed documents.
SPIRE_API std::unique_ptr<Dataset> array_dataset(const std::vector<Array>& arrays,
                                                 const ArrayOptions& options = {},
                                                 const ReadOptions& read = {});
// Returns the data of a run from arrays; without test arrays evaluations read the training data.
SPIRE_API DataSource array_source(std::vector<Array> train, std::vector<Array> test = {},
                                  ArrayOptions options = {});

// Writes one sample: column c to rows[c], values of spec.columns[c].dtype. Called by several
// threads at a time. What it writes must depend on (sample, epoch) alone, so that runs repeat.
using ReadSample =
    std::function<void(int64_t sample, int64_t epoch, const std::vector<std::byte*>& rows)>;

// Returns a dataset of `count` samples that `read` writes; an exception of `read` ends the run.
SPIRE_API std::unique_ptr<Dataset> function_dataset(SampleSpec spec, int64_t count,
                                                    ReadSample read);

}  // namespace spire
