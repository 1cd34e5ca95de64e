#include "tools/bench/prediction/prediction.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/text.h"

namespace spire {
namespace {

double range_bytes(FloatRange range) {
  return static_cast<double>(range.size()) * sizeof(float);
}

double all_bytes(const StepProfile& profile) {
  return profile.buckets.empty() ? 0
                                 : sizeof(float) * static_cast<double>(profile.buckets.back().end);
}

// Time of the two small exchanges of a step: the squares of gradients, one fp64 a chunk, and the
// losses and flags, of which only the start of messages counts.
double numbers_seconds(const StepProfile& profile, const CommunicationModel& model,
                       int64_t members) {
  double squares = all_bytes(profile) / (TreeSum::chunk * sizeof(float)) * sizeof(double);
  return spread_seconds(model.link, members, squares) + spread_seconds(model.link, members, 0);
}

// What of a step is neither forward and backward nor the batch nor the update.
double constant_seconds(const StepProfile& profile) {
  const StepTimes& t = profile.times;
  return profile.step_seconds - t.data - t.copy - t.forward - t.backward - t.update;
}

}  // namespace

double gamma_of(const Ceilings& ceilings) {
  require(ceilings.copy_bytes_per_s > 0, "gamma without a copy bandwidth");
  return 3 * static_cast<double>(ceilings.devices * ceilings.threads) / ceilings.copy_bytes_per_s;
}

double exposed_reduction(const StepProfile& profile, const CommunicationModel& model,
                         int64_t members, double backward) {
  double shares = 0;  // of the sums that the lane has made so far
  double exchanged = 0, cost = 0;
  for (size_t b = 0; b < profile.buckets.size(); ++b) {
    double bytes = range_bytes(profile.buckets[b]);
    shares += share_seconds(model, bytes);
    double seconds = bucket_seconds(model, members, bytes);
    exchanged = std::max(exchanged, profile.ready[b] * backward + shares) + seconds;
    cost += seconds;
  }
  double wait = model.overlaps ? std::max(0.0, exchanged - backward - shares) : cost;
  return shares + wait;
}

PredictedPoint predict(const StepProfile& profile, const CommunicationModel& model, Scaling scaling,
                       int64_t devices) {
  require(devices % model.devices_per_member == 0, "{} devices in members of {}", devices,
          model.devices_per_member);
  const StepTimes& t = profile.times;
  PredictedPoint point{.scaling = scaling, .devices = devices, .towers = profile.variant.towers};
  if (scaling == Scaling::weak) point.towers *= devices;
  if (point.towers < devices) {
    point.error = fmt::format("{} need {} towers, the run has {}", counted(devices, "device"),
                              devices, point.towers);
    return point;
  }
  // The device with most towers decides.
  auto measured = static_cast<double>(profile.variant.towers);
  double towers = static_cast<double>((point.towers + devices - 1) / devices) / measured;
  double backward_of_one = t.backward / measured;
  int64_t members = devices / model.devices_per_member;
  double bytes = all_bytes(profile);
  bool shards = model.strategy == RunConfig::Strategy::sharded;
  point.exposed_seconds = exposed_reduction(profile, model, members, backward_of_one) +
                          numbers_seconds(profile, model, members) +
                          publish_seconds(model, members, bytes) + copy_seconds(model, bytes);
  point.step_seconds = (t.data + t.copy + t.forward + t.backward) * towers +
                       t.update / static_cast<double>(shards ? devices : 1) +
                       constant_seconds(profile) + point.exposed_seconds;
  point.samples_per_s = static_cast<double>(profile.batch_size * point.towers) / point.step_seconds;
  point.efficiency = point.samples_per_s / (static_cast<double>(devices) * profile.samples_per_s());
  return point;
}

}  // namespace spire
