// Schema of a dataset's samples: the columns of a batch, classes, normalization and names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/dtype.h>
#include <spire/export.h>
#include <spire/shape.h>

namespace spire {

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

}  // namespace spire
