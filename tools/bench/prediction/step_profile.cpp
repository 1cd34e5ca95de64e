#include "tools/bench/prediction/step_profile.h"

#include <spire/error.h>
#include <spire/observer.h>

#include "engine/run/run_setup.h"
#include "tools/bench/prediction/backward_profile.h"
#include "tools/bench/runs/variants.h"

namespace spire {
namespace {

void expect_one_device(const Variant& variant, const Measurement& measured) {
  if (variant.devices != 1)
    fail(Category::config, "a prediction starts from one device, not from {}; measure that too",
         to_text(variant));
  if (measured.times.backward <= 0 || measured.step_seconds <= 0)
    fail(Category::config, "a prediction needs the times of forward and backward of {}",
         to_text(variant));
}

}  // namespace

StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings) {
  expect_one_device(variant, measured);
  Observer silent;
  RunSetup setup(on_one_cpu(config_of(variant, config)), {}, silent);
  TowerTrainerOptions options = setup.trainer_options();
  auto build = [&options](int64_t batch, bool training) { return options.build(batch, training); };
  int64_t batch = setup.placement.batch_size;
  ParameterLayout layout = make_layout(build, batch);
  LoweredGraph lowered =
      lower_for_training(build(batch, true), DeviceId{}, layout, recomputes(options.config));
  StepProfile profile{.variant = variant,
                      .batch_size = batch,
                      .step_seconds = measured.step_seconds,
                      .times = measured.times,
                      .buckets = bucket_ranges(options.config.bucket, layout),
                      .ready = {}};
  profile.ready =
      ready_shares(lowered, layout, profile.buckets, roofline_seconds(ceilings, variant.precision));
  return profile;
}

}  // namespace spire
