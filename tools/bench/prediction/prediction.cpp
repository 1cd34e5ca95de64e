#include "tools/bench/prediction/prediction.h"

#include <algorithm>
#include <map>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "tools/bench/limits/ceilings.h"
#include "tools/bench/runs/variants.h"
#include "tools/performance/tower_work.h"

namespace spire {
namespace {

// Returns the share of backward's time at the end of each node; 0 for those of forward.
std::vector<double> elapsed_shares(const LoweredGraph& lowered, const OpSeconds& seconds) {
  std::vector<OpWork> work = work_of(lowered.graph, lowered.gradients);
  std::vector<double> elapsed;
  double total = 0;
  size_t op = 0;  // views have no work
  for (const Node& node : lowered.graph.nodes()) {
    if (!node.op->is_view()) {
      if (node.backward) total += seconds(work[op]);
      ++op;
    }
    elapsed.push_back(total);
  }
  require(total > 0, "a backward of no time");
  for (double& share : elapsed) share /= total;
  return elapsed;
}

// Returns the position of the last node that reads or writes each value.
std::map<int, size_t> last_uses(const Graph& graph) {
  std::map<int, size_t> last;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const auto* values : {&graph.nodes()[n].inputs, &graph.nodes()[n].outputs}) {
      for (Value value : *values) last[value.id] = n;
    }
  }
  return last;
}

void expect_one_device(const Variant& variant, const Measurement& measured) {
  if (variant.devices != 1)
    fail(Category::config, "a prediction starts from one device, not from {}; measure that too",
         to_text(variant));
  if (measured.times.backward <= 0 || measured.step_seconds <= 0)
    fail(Category::config, "a prediction needs the times of forward and backward of {}",
         to_text(variant));
}

}  // namespace

std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds) {
  const Graph& graph = lowered.graph;
  std::vector<double> elapsed = elapsed_shares(lowered, seconds);
  std::map<int, size_t> last = last_uses(graph);
  std::vector<double> ready(buckets.size(), 0.0);
  for (const auto& [parameter, gradient] : lowered.gradients) {
    int64_t begin = layout.find(graph.tensor(parameter).name).offset;
    double share = elapsed[last.at(gradient.id)];
    for (size_t b = 0; b < buckets.size(); ++b)
      if (begin < buckets[b].end) ready[b] = std::max(ready[b], share);
  }
  if (!ready.empty()) ready.back() = 1;
  return ready;
}

// Buckets grow with the number of GPUs; these are of as many as a server has.
constexpr int usual_members = 8;

StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings) {
  expect_one_device(variant, measured);
  TowerWork tower = tower_work(config_of(variant, config));
  Roofline roofline = roofline_of(ceilings, 1.0 / static_cast<double>(ceilings.devices));
  auto seconds = [&](const OpWork& work) { return roofline.seconds(work); };
  DeviceKind kind = ceilings.kind == Kind::cuda ? DeviceKind::cuda : DeviceKind::cpu;
  std::vector<FloatRange> buckets =
      make_buckets(tower.layout.gradient_floats(), config.bucket, kind, usual_members);
  return {.variant = variant,
          .batch_size = tower.batch,
          .step_seconds = measured.step_seconds,
          .times = measured.times,
          .buckets = buckets,
          .ready = ready_shares(tower.lowered, tower.layout, buckets, seconds)};
}

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
