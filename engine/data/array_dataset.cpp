// Datasets of arrays in memory, of any strides and dtypes.
#include <algorithm>
#include <optional>
#include <utility>

#include <spire/dataset.h>

#include "engine/base/fail.h"
#include "engine/data/array_column.h"
#include "engine/data/label_survey.h"
#include "engine/data/text/packed_documents.h"

namespace spire {
namespace {

bool is_input(std::string_view column) {
  return column == "images" || column == "features" || column == "tokens";
}

// Rank of the array, N included, that models expect of a column; 0: any.
int rank_of(std::string_view column) {
  if (is_image(column)) return 4;
  if (column == "masks") return 3;
  if (column == "labels") return 1;
  bool sequence = column == "tokens" || column == "targets" || column == "positions";
  return sequence || column == "features" || column == "values" ? 2 : 0;
}

const char* layout_of(std::string_view column) {
  if (is_image(column)) return "(N, H, W, C)";
  if (column == "masks") return "(N, H, W)";
  if (column == "features") return "(N, F)";
  if (column == "labels") return "(N)";
  return column == "values" ? "(N, K)" : "(N, T)";
}

// Dtype of the rows of a batch. read: of images and features.
DType dtype_in_batch(const Array& array, DType read) {
  if (is_image(array.column) || array.column == "features") return read;
  bool known = rank_of(array.column) > 0;
  bool whole = holds_whole_numbers(array.column) || (!known && array.dtype == DType::i32);
  return whole ? DType::i32 : DType::f32;
}

void check(const Array& array, int64_t samples) {
  auto expect = [&](bool holds, const std::string& problem) {
    if (!holds) fail(Category::data, "array '{}': {}", array.column, problem);
  };
  check_array(array);
  int rank = rank_of(array.column);
  expect(rank == 0 || array.shape.rank() == rank,
         fmt::format("its shape is {}; it must be {}", to_string(array.shape),
                     layout_of(array.column)));
  expect(std::ranges::all_of(array.shape.dims(), [](int64_t dim) { return dim >= 1; }),
         fmt::format("its shape {} has no elements", to_string(array.shape)));
  expect(array.shape[0] == samples,
         fmt::format("it has {} samples, and the first array has {}", array.shape[0], samples));
}

// Throws Error(data) unless the rows are the places of tokens in packed documents.
void check_positions(const ArrayColumn& column, int64_t samples) {
  std::vector<int32_t> row(static_cast<size_t>(column.column().shape.elements()));
  for (int64_t sample = 0; sample < samples; ++sample) {
    column.read(sample, reinterpret_cast<std::byte*>(row.data()));
    if (std::optional<int64_t> wrong = misplaced_token(row))
      fail(Category::data,
           "array 'positions': sample {} has {} at position {}; a document begins with 0, and "
           "each further token has one more",
           sample, row[static_cast<size_t>(*wrong)], *wrong);
  }
}

// Least and largest number of a column of numbers from 0 on.
std::pair<int64_t, int64_t> range_of(const ArrayColumn& column, int64_t samples) {
  std::vector<int32_t> row(static_cast<size_t>(column.column().shape.elements()));
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t sample = 0; sample < samples; ++sample) {
    column.read(sample, reinterpret_cast<std::byte*>(row.data()));
    auto [low, high] = std::minmax_element(row.begin(), row.end());
    least = std::min<int64_t>(least, *low), most = std::max<int64_t>(most, *high);
  }
  return {least, most};
}

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(const std::vector<Array>& arrays, const ArrayOptions& options,
               const ReadOptions& read) {
    if (arrays.empty()) fail(Category::data, "array_dataset: there are no arrays");
    count_ = arrays.front().shape.rank() > 0 ? arrays.front().shape[0] : 0;
    for (const Array& array : arrays) {
      check(array, count_);
      columns_.emplace_back(array, dtype_in_batch(array, read.dtype), options.copy);
    }
    // What the model reads comes first.
    std::stable_partition(columns_.begin(), columns_.end(),
                          [](const ArrayColumn& column) { return is_input(column.name()); });
    for (const ArrayColumn& column : columns_) spec_.columns.push_back(column.column());
    spec_.class_names = options.class_names;
    spec_.normalization = options.normalization;
    spec_.classes = options.classes;
    for (const ArrayColumn& column : columns_)
      if (column.name() == "positions")
        check_positions(column, count_);
      else if (holds_indices(column.name()))
        check_numbers(column, options.classes);
    auto names = static_cast<int64_t>(options.class_names.size());
    if (names > 0 && names != spec_.classes)
      fail(Category::data, "ArrayOptions: {} class names for {} classes", names, spec_.classes);
  }

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }

  void read(std::span<const int64_t> samples, int64_t,
            std::span<std::byte* const> rows) const override {
    for (size_t c = 0; c < columns_.size(); ++c) {
      std::byte* row = rows[c];
      for (int64_t sample : samples) {
        columns_[c].read(sample, row);
        row += spec_.columns[c].row_bytes();
      }
    }
  }

 private:
  // classes: 0: from the numbers. Beside labels, tokens are of another vocabulary.
  void check_numbers(const ArrayColumn& column, int64_t classes) {
    auto [least, most] = range_of(column, count_);
    bool labels = std::ranges::any_of(
        columns_, [](const ArrayColumn& each) { return each.name() == "labels"; });
    if (labels && column.name() != "labels") {
      if (least < 0) fail(Category::data, "array '{}': it has {}", column.name(), least);
      return;
    }
    if (classes == 0 && least >= 0 && column.name() == "labels") survey_labels(column);
    if (classes == 0) spec_.classes = std::max(spec_.classes, most + 1);
    int64_t first = column.name() == "masks" ? -1 : 0;  // -1: a pixel without a class
    if (least >= first && (classes == 0 || most < classes)) return;
    fail(
        Category::data, "array '{}': it has {}, but numbers are from {} to {}{}", column.name(),
        least < first ? least : most, first,
        classes == 0 ? std::string("classes - 1") : std::to_string(classes - 1),
        column.name() == "labels" ? " (of labels from 1 give y - 1, of -1 and 1 (y + 1) / 2)" : "");
  }

  void survey_labels(const ArrayColumn& column) const {
    LabelSurvey survey;
    for (int64_t sample = 0; sample < count_; ++sample) {
      int32_t label = 0;
      column.read(sample, reinterpret_cast<std::byte*>(&label));
      survey.add({&label, 1});
    }
    survey.require_classes("array 'labels'", false, "give the number of classes");
  }

  std::vector<ArrayColumn> columns_;
  SampleSpec spec_;
  int64_t count_ = 0;
};

class FunctionDataset : public Dataset {
 public:
  FunctionDataset(SampleSpec spec, int64_t count, ReadSample read)
      : spec_(std::move(spec)), count_(count), read_(std::move(read)) {
    if (spec_.columns.empty()) fail(Category::data, "function_dataset: the spec has no columns");
    if (count_ < 1) fail(Category::data, "function_dataset: {} samples; give at least 1", count_);
    if (!read_) fail(Category::data, "function_dataset: there is no function");
  }

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    std::vector<std::byte*> rows(columns.begin(), columns.end());
    for (int64_t sample : samples) {
      read_(sample, epoch, rows);
      for (size_t c = 0; c < rows.size(); ++c) rows[c] += spec_.columns[c].row_bytes();
    }
  }

 private:
  SampleSpec spec_;
  int64_t count_;
  ReadSample read_;
};

}  // namespace

std::unique_ptr<Dataset> array_dataset(const std::vector<Array>& arrays,
                                       const ArrayOptions& options, const ReadOptions& read) {
  return std::make_unique<ArrayDataset>(arrays, options, read);
}

DataSource array_source(std::vector<Array> train, std::vector<Array> test, ArrayOptions options) {
  return [train = std::move(train), test = std::move(test), options](const ReadOptions& read) {
    DatasetPair pair;
    pair.train = array_dataset(train, options, read);
    // Classes that only the training data has count for the test data, too.
    ArrayOptions same = options;
    same.classes = pair.train->spec().classes;
    pair.test = array_dataset(test.empty() ? train : test, same, read);
    if (test.empty())
      pair.notes.emplace_back("there is no test data: evaluations read the training data");
    return pair;
  };
}

std::unique_ptr<Dataset> function_dataset(SampleSpec spec, int64_t count, ReadSample read) {
  return std::make_unique<FunctionDataset>(std::move(spec), count, std::move(read));
}

}  // namespace spire
