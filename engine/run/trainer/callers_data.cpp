#include "engine/run/trainer/callers_data.h"

#include <memory>
#include <utility>

#include <spire/error.h>

namespace spire::inline run {
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

}  // namespace

DataSource callers_data(const SampleSpec& spec, const TrainerOptions& options) {
  if (options.train_samples < 0 || options.test_samples < 0)
    fail(Category::config, "TrainerOptions: a negative number of samples");
  int64_t train = options.train_samples, test = options.test_samples;
  return [spec, train, test](const ReadOptions& read) {
    SampleSpec used = spec;
    for (Column& column : used.columns)
      if (column.name == "images" || column.name == "features" || column.name == "target_images")
        column.dtype = read.dtype;
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
  bool to_the_end = schedule.name == Name::cosine || schedule.name == Name::linear ||
                    schedule.name == Name::polynomial;
  if (!warms_up && !by_epochs && (!to_the_end || config.steps)) return;
  fail(Category::config,
       "schedule: it needs the length of {}; set TrainerOptions::train_samples, or {}",
       to_the_end && !warms_up ? "the run" : "an epoch",
       to_the_end && !warms_up ? "steps"
                               : "the schedule in steps (warmup_steps, step_steps, "
                                 "milestone_steps)");
}

}  // namespace spire::inline run
