#include "engine/run/trainer/staged_batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <spire/op.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/label_survey.h"
#include "engine/data/text/packed_documents.h"
#include "engine/device/stream.h"

namespace spire {
namespace {

bool is_short_float(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16;
}

DType given_dtype(DType dtype) {
  return is_short_float(dtype) ? DType::f32 : dtype;
}

// Whether the array's elements lie one behind the other; strides of axes of one index do not count.
bool is_dense(const Array& array) {
  if (array.strides.empty()) return true;
  if (static_cast<int>(array.strides.size()) != array.shape.rank()) return false;
  int64_t dense = 1;
  for (int axis = array.shape.rank() - 1; axis >= 0; --axis) {
    if (array.shape[axis] > 1 && array.strides[static_cast<size_t>(axis)] != dense) return false;
    dense *= array.shape[axis];
  }
  return true;
}

std::vector<int64_t> dims_of(const Column& column, int64_t count) {  // (count, row)
  std::vector<int64_t> dims{count};
  dims.insert(dims.end(), column.shape.dims().begin(), column.shape.dims().end());
  return dims;
}

void check_given(const Column& column, const Array& array, int64_t count) {
  auto refuse = [&](const std::string& problem) {
    fail(Category::config, "Samples: column '{}': {}", column.name, problem);
  };
  if (array.column != column.name)
    refuse(fmt::format("its array is that of column '{}'", array.column));
  std::span<const int64_t> dims = array.shape.dims();
  if (dims.empty() || dims[0] != count || !std::ranges::equal(dims.subspan(1), column.shape.dims()))
    refuse(fmt::format("the shape of its array is {}; it must be ({})", to_string(array.shape),
                       fmt::join(dims_of(column, count), ", ")));
  if (!array.strides.empty() && array.strides.size() != dims.size())
    refuse(fmt::format("its array has {} strides for {} axes", array.strides.size(), dims.size()));
}

// The rows as an array: dense where only a pointer is given.
Array as_array(const Column& column, const ColumnRows& rows, int64_t count) {
  if (rows.array) return *rows.array;
  return {column.name, rows.data, rows.dtype.value_or(given_dtype(column.dtype)),
          Shape(dims_of(column, count))};
}

bool is_label(const Column& column) {
  return column.name == "labels" || column.name == "other_labels";
}

bool holds_indices(const Column& column) {
  bool tokens = column.name == "tokens" || column.name == "targets";
  return column.dtype == DType::i32 && (is_label(column) || tokens || column.name == "masks");
}

// The numbers are at least this: -1 is a pixel without a class.
int32_t first_of(const Column& column) {
  return column.name == "masks" ? -1 : 0;
}

// The numbers are below this; INT32_MAX + 1 if the spec does not tell.
int64_t end_of(const SampleSpec& spec, const Column& column) {
  bool told = spec.classes > 0 && (is_label(column) || !spec.find("labels"));
  return told ? spec.classes : int64_t{INT32_MAX} + 1;
}

// Of packed documents: kernels read the tokens from the place on that a position names.
void check_positions(const Column& column, const std::byte* rows, int64_t before, int64_t count) {
  int64_t row = column.shape.elements();
  std::span all(reinterpret_cast<const int32_t*>(rows), static_cast<size_t>(count * row));
  for (int64_t sample = 0; sample < count; ++sample) {
    auto places = all.subspan(static_cast<size_t>(sample * row), static_cast<size_t>(row));
    if (std::optional<int64_t> wrong = misplaced_token(places))
      fail(Category::data,
           "Samples: sample {}: column 'positions' has {} at position {}; a document begins with "
           "0, and each further token has one more",
           before + sample, places[static_cast<size_t>(*wrong)], *wrong);
  }
}

// before: number of samples before these rows.
void check_numbers(const SampleSpec& spec, const Column& column, const std::byte* rows,
                   int64_t before, int64_t count) {
  if (column.name == "positions") return check_positions(column, rows, before, count);
  int64_t row = column.shape.elements(), end = end_of(spec, column);
  int32_t first = first_of(column);
  const auto* begin = reinterpret_cast<const int32_t*>(rows);
  const auto* last = begin + count * row;
  const auto* wrong = std::find_if(
      begin, last, [first, end](int32_t number) { return number < first || number >= end; });
  if (wrong == last) return;
  int64_t at = wrong - begin;
  fail(
      Category::data, "Samples: sample {}: column '{}' has {}{}; numbers are {}", before + at / row,
      column.name, *wrong, row > 1 ? fmt::format(" at position {}", at % row) : "",
      end > INT32_MAX ? fmt::format("{} or more", first) : fmt::format("{} to {}", first, end - 1));
}

}  // namespace

void check_rows(const Column& column, const ColumnRows& rows, int64_t count) {
  if (rows.data == nullptr) fail(Category::config, "Samples: column '{}' is null", column.name);
  if (rows.array) check_given(column, *rows.array, count);
  if (!rows.dtype || *rows.dtype == given_dtype(column.dtype)) return;
  if (rows.array && rows.array->device.kind == DeviceKind::cuda && is_dense(*rows.array) &&
      *rows.dtype == column.dtype)
    return;
  bool whole = *rows.dtype == DType::i32 || *rows.dtype == DType::u8;
  bool becomes_float = column.dtype == DType::f32 || is_short_float(column.dtype);
  bool converts =
      becomes_float ? !is_short_float(*rows.dtype) : column.dtype == DType::i32 && whole;
  if (!converts)
    fail(Category::config, "Samples: column '{}': its numbers are {}; convert them to {}",
         column.name, to_string(*rows.dtype), to_string(given_dtype(column.dtype)));
}

GivenRows::GivenRows(const Column& column, const ColumnRows& rows, int64_t count)
    : column_(column), dense_(static_cast<const std::byte*>(rows.data)) {
  if (rows.array) device_ = rows.array->device;
  bool on_host = device_.kind == DeviceKind::cpu;
  bool as_given =
      !rows.dtype || *rows.dtype == (on_host ? given_dtype(column.dtype) : column.dtype);
  if (as_given && (!rows.array || is_dense(*rows.array))) return;
  dense_ = nullptr;
  array_.emplace(as_array(column, rows, count), column.dtype, false);  // of a GPU's a host copy
}

const std::byte* GivenRows::in_place(int64_t first) const {
  bool same = dense_ && device_.kind == DeviceKind::cpu && !is_short_float(column_.dtype);
  return same ? dense_ + static_cast<size_t>(first) * column_.row_bytes() : nullptr;
}

const std::byte* GivenRows::on_gpu(int64_t first) const {
  bool there = dense_ && device_.kind == DeviceKind::cuda;
  return there ? dense_ + static_cast<size_t>(first) * column_.row_bytes() : nullptr;
}

void GivenRows::copy(int64_t first, int64_t count, std::byte* to) const {
  int64_t row = column_.shape.elements();
  if (array_) {
    for (int64_t i = 0; i < count; ++i)
      array_->read(first + i, to + static_cast<size_t>(i) * column_.row_bytes());
  } else if (const std::byte* from = in_place(first)) {
    std::memcpy(to, from, static_cast<size_t>(count) * column_.row_bytes());
  } else if (const std::byte* there = on_gpu(first)) {
    std::unique_ptr<Stream> stream = make_stream(device_);
    stream->copy(to, there, static_cast<size_t>(count) * column_.row_bytes());
    stream->synchronize();
  } else {
    with_any_float_type(column_.dtype, [&](auto type) {
      std::copy_n(reinterpret_cast<const float*>(dense_) + first * row, count * row,
                  reinterpret_cast<decltype(type)*>(to));
    });
  }
}

StagedBatch::StagedBatch(const std::vector<Column>& columns, const Placement& placement)
    : columns_(columns), on_gpus_(placement.lanes[0].device.kind == DeviceKind::cuda) {
  TowerRange own = placement.towers_of(placement.rank);
  first_row_ = own.begin * placement.batch_size;
  rows_ = own.size() * placement.batch_size;
  auto rows = static_cast<size_t>(rows_);
  size_t bytes = 0;
  for (const Column& column : columns_) bytes += align_up(rows * column.row_bytes());
  memory_ = allocate_staging(placement.lanes[0].device, bytes);
  auto* begin = memory_->as<std::byte>();
  for (const Column& column : columns_) {
    starts_.push_back(begin);
    batch_.columns.push_back(begin);
    begin += align_up(rows * column.row_bytes());
  }
  batch_.first_row = first_row_;
}

const Batch& StagedBatch::fill(const std::vector<GivenRows>& given, int64_t first, int64_t count) {
  int64_t own = std::clamp<int64_t>(count - first_row_, 0, rows_);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::byte* there =
        on_gpus_ && own == rows_ ? given[c].on_gpu(first + first_row_) : nullptr;
    batch_.columns[c] = there ? there : starts_[c];
    if (there) continue;
    if (own > 0) given[c].copy(first + first_row_, own, starts_[c]);
    size_t row = columns_[c].row_bytes(), used = static_cast<size_t>(own) * row;
    std::memset(starts_[c] + used, 0, static_cast<size_t>(rows_) * row - used);
  }
  batch_.valid = count;
  return batch_;
}

Batch StagedBatch::on_host() const {
  Batch batch = batch_;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (batch.columns[c] != starts_[c]) batch.columns[c] = nullptr;
  return batch;
}

std::vector<GivenRows> given_rows(const SampleSpec& spec, const Samples& samples) {
  if (samples.columns.size() != spec.columns.size())
    fail(Category::config, "Samples: {} given, but the data has {}",
         counted(static_cast<int64_t>(samples.columns.size()), "column"), spec.columns.size());
  for (size_t c = 0; c < spec.columns.size(); ++c)
    check_rows(spec.columns[c], samples.columns[c], samples.count);
  std::vector<GivenRows> given;
  given.reserve(spec.columns.size());
  for (size_t c = 0; c < spec.columns.size(); ++c)
    given.emplace_back(spec.columns[c], samples.columns[c], samples.count);
  return given;
}

namespace {

// Calls check(rows, first, count) for all rows of a column, block by block where they are copied.
template <typename Check>
void for_blocks(const Column& column, const GivenRows& rows, int64_t count, const Check& check) {
  if (const std::byte* all = rows.in_place(0)) return check(all, 0, count);
  auto most = std::max<int64_t>(1, (int64_t{1} << 20) / static_cast<int64_t>(column.row_bytes()));
  std::vector<std::byte> block(static_cast<size_t>(std::min(most, count)) * column.row_bytes());
  for (int64_t first = 0; first < count; first += most) {
    int64_t part = std::min(most, count - first);
    rows.copy(first, part, block.data());
    check(block.data(), first, part);
  }
}

}  // namespace

void check_indices(const SampleSpec& spec, const Column& column, const GivenRows& rows,
                   int64_t count) {
  bool positions = column.name == "positions" && column.dtype == DType::i32;
  if (!positions && !holds_indices(column)) return;
  for_blocks(column, rows, count, [&](const std::byte* block, int64_t first, int64_t part) {
    check_numbers(spec, column, block, first, part);
  });
}

void check_binary(const Column& column, const GivenRows& rows, int64_t count) {
  if (column.name != "values" || column.dtype != DType::f32) return;
  for_blocks(column, rows, count, [&](const std::byte* block, int64_t first, int64_t part) {
    const auto* values = reinterpret_cast<const float*>(block);
    int64_t each = column.shape.elements();
    for (int64_t sample = 0; sample < part; ++sample)
      require_binary(values + sample * each, each,
                     [&] { return fmt::format("Samples: sample {}", first + sample); });
  });
}

std::string non_finite_number(const std::vector<Column>& columns, const Batch& batch, int64_t rows,
                              const std::function<int64_t(int64_t row)>& sample_of) {
  int64_t used = std::clamp<int64_t>(batch.valid - batch.first_row, 0, rows);
  for (size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c];
    if (!batch.columns[c] || !is_float_type(column.dtype)) continue;
    std::vector<float> row(static_cast<size_t>(column.shape.elements()));
    for (int64_t r = 0; r < used; ++r) {
      copy_floats(batch.columns[c] + static_cast<size_t>(r) * column.row_bytes(), column.dtype,
                  row);
      auto bad = std::ranges::find_if_not(row, [](float value) { return std::isfinite(value); });
      if (bad != row.end())
        return fmt::format("column '{}' of sample {} is {}", column.name,
                           sample_of(batch.first_row + r), unsigned_nan(*bad));
    }
  }
  return {};
}

namespace {

constexpr int64_t endless = int64_t{1} << 40;  // samples of an epoch without an end

class CallersData : public Dataset {
 public:
  CallersData(SampleSpec spec, int64_t count) : spec_(std::move(spec)), count_(count) {}
  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }
  void read(std::span<const int64_t>, int64_t, std::span<std::byte* const>) const override {
    fail(Category::unexpected, "a read of samples that the caller has");
  }

 private:
  SampleSpec spec_;
  int64_t count_;
};

bool is_computed(const Column& column) {
  return column.name == "images" || column.name == "features" || column.name == "target_images";
}

// The dtype in which the caller has a column that Spire knows; none: any.
std::optional<DType> callers_dtype(const Column& column) {
  if (is_computed(column) || column.name == "values" || column.name == "mix") return DType::f32;
  for (const char* whole : {"labels", "other_labels", "tokens", "targets", "positions", "masks"})
    if (column.name == whole) return DType::i32;
  return {};
}

void check_columns(const SampleSpec& spec) {
  for (const Column& column : spec.columns) {
    std::optional<DType> expected = callers_dtype(column);
    // A spec of a Trainer's data() has the dtype of the precision.
    bool of_run =
        is_computed(column) && (column.dtype == DType::bf16 || column.dtype == DType::f16);
    if (expected && column.dtype != *expected && !of_run)
      fail(Category::config,
           "SampleSpec: column '{}' is declared {}; declare {}: a batch's other numbers are "
           "converted",
           column.name, to_string(column.dtype), to_string(*expected));
    if (std::ranges::any_of(column.shape.dims(), [](int64_t dim) { return dim < 1; }))
      fail(Category::config, "SampleSpec: the shape {} of column '{}' has no elements",
           to_string(column.shape), column.name);
  }
}

bool ends_with_run(ScheduleConfig::Name schedule) {
  using Name = ScheduleConfig::Name;
  switch (schedule) {
    case Name::constant:
    case Name::step:
    case Name::multistep:
      return false;
    case Name::cosine:
    case Name::linear:
    case Name::polynomial:
      return true;
  }
  return false;
}

}  // namespace

// A model of Spire reads the first column; a target there would be its own answer.
void check_first_column(const SampleSpec& spec) {
  auto is_target = [](const Column& column) {
    constexpr std::array names = {"labels", "targets",      "values", "target_images",
                                  "masks",  "other_labels", "mix"};
    return std::ranges::find(names, column.name) != names.end();
  };
  auto input = std::ranges::find_if_not(spec.columns, is_target);
  if (input == spec.columns.begin() || input == spec.columns.end()) return;
  fail(
      Category::config,
      "SampleSpec: the first column is '{}', with which a loss compares; the model reads the first "
      "one: put '{}' there",
      spec.columns.front().name, input->name);
}

DataSource callers_data(const SampleSpec& spec, const TrainerOptions& options) {
  check_columns(spec);
  if (!options.model) check_first_column(spec);
  if (options.train_samples < 0 || options.test_samples < 0)
    fail(Category::config, "TrainerOptions: a negative number of samples");
  int64_t train = options.train_samples, test = options.test_samples;
  return [spec, train, test](const ReadOptions& read) {
    SampleSpec used = spec;
    for (Column& column : used.columns)
      if (is_computed(column)) column.dtype = read.dtype;
    DatasetPair pair;
    pair.train = std::make_unique<CallersData>(used, train > 0 ? train : endless);
    pair.test = std::make_unique<CallersData>(used, test > 0 ? test : endless);
    return pair;
  };
}

void check_config_for_batches(const RunConfig& config, const TrainerOptions& options) {
  if (config.data.augment.mixup > 0 || config.data.augment.cutmix > 0)
    fail(Category::config,
         "data.augment: mixup and cutmix mix samples of datasets; a Trainer of batches takes the "
         "columns 'other_labels' and 'mix' from the caller");
  if (options.train_samples > 0) return;
  using Name = ScheduleConfig::Name;
  const ScheduleConfig& schedule = config.schedule;
  bool warms_up = schedule.warmup_steps == 0 && schedule.warmup_epochs > 0;
  bool by_epochs = (schedule.name == Name::step && schedule.step_steps == 0) ||
                   (schedule.name == Name::multistep && schedule.milestone_steps.empty());
  bool to_the_end = ends_with_run(schedule.name);
  if (!warms_up && !by_epochs && (!to_the_end || config.steps)) return;
  fail(Category::config,
       "schedule: it needs the length of {}; set TrainerOptions::train_samples, or {}",
       to_the_end && !warms_up ? "the run" : "an epoch",
       to_the_end && !warms_up ? "steps"
                               : "the schedule in steps (warmup_steps, step_steps, "
                                 "milestone_steps)");
}

}  // namespace spire
