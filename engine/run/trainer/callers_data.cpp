#include "engine/run/trainer/callers_data.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <spire/error.h>

namespace spire {
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
      fail(
          Category::config,
          "SampleSpec: column '{}' is declared {}; batches have it as {}: declare that and convert "
          "the numbers",
          column.name, name(column.dtype), name(*expected));
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

DataSource callers_data(const SampleSpec& spec, const TrainerOptions& options) {
  check_columns(spec);
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
