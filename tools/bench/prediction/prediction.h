// Predicts how fast a run is on more devices than are here: from the parts of a step measured on
// one device, and the time of the exchanges (communication_model.h). A model, not a measurement.
//
// docs/benchmarks.md, "Predicted scaling", has the formulas and what they leave out.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/parameter_layout.h"
#include "engine/train/model_graph.h"
#include "engine/update/tree.h"
#include "tools/bench/prediction/communication_model.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_report.h"
#include "tools/bench/runs/variants.h"
#include "tools/performance/op_work.h"

namespace spire {

// The measured step of one device, and the point of its backward at which each bucket of gradients
// is complete. From both follows how much of an exchange backward hides.
struct StepProfile {
  Variant variant;         // of one device
  int64_t batch_size = 0;  // samples of a tower
  // Measured. What is not data, copy, forward, backward or update stays constant in a prediction.
  double step_seconds = 0;
  StepTimes times;  // measured
  std::vector<FloatRange> buckets;
  std::vector<double> ready;  // per bucket, the share of backward at which it is complete

  double samples_per_s() const {
    return static_cast<double>(batch_size * variant.towers) / step_seconds;
  }
};

// Builds the graph of the benchmark's model, without training it, and computes buckets and ready
// shares from the roofline of one device. config: the benchmark's; config_of() makes the variant's
// of it. Throws Error(config) if the variant has more than one device or no time of backward, and
// what train() throws for a config.
StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings);

// Returns the seconds that an op takes; only ratios count.
using OpSeconds = std::function<double(const OpWork& work)>;

// Returns for each bucket the share (0..1) of backward's time at which it is complete: the end of
// the last node that uses one of the gradients that begin before the bucket's end. The last bucket,
// which ends with the running statistics, is complete at 1.
std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds);

// Returns gamma, the seconds to add a byte to another on one CPU thread or GPU: an addition reads
// two floats and writes one, at the copy bandwidth.
double gamma_of(const Ceilings& ceilings);

struct PredictedPoint {
  Scaling scaling = Scaling::strong;
  int64_t devices = 1, towers = 1;
  double samples_per_s = 0;
  double efficiency = 0;       // speed per device / speed of one device
  double exposed_seconds = 0;  // of a step: exchanges that backward does not hide
  double step_seconds = 0;
  std::string error = {};  // why the run cannot have so many devices; empty: it can
};

// Returns the seconds from the end of a tower's backward, which takes `backward` seconds, until all
// buckets are reduced over `members`, including the lanes' own shares of the sums.
double exposed_reduction(const StepProfile& profile, const CommunicationModel& model,
                         int64_t members, double backward);

// REQUIRES: devices are multiples of model.devices_per_member.
PredictedPoint predict(const StepProfile& profile, const CommunicationModel& model, Scaling scaling,
                       int64_t devices);

// Returns the table, headed "model, not measured", with the assumptions.
std::string to_text(const StepProfile& profile, const CommunicationModel& model,
                    const std::vector<PredictedPoint>& points);

// Returns a table with the model's speed and the measured one ("model : measured") for each
// measured point on several CPU devices with the profile's precision, strategy and towers. model:
// has the profile's strategy, and as its link the one between processes of this host. A process,
// with all its devices, is one member.
std::string compare_with_measured(const StepProfile& profile, CommunicationModel model,
                                  std::span<const Point> points);

// Predictions of trainer bench: speeds on more devices than there are, from the runs on one device.
class ScalingPrediction {
 public:
  // devices: the numbers of devices whose speed to predict; link: as parse_link() reads it. Make it
  // before anything is measured: it throws Error(config) for an unknown link, and if no variant has
  // one device in one process.
  ScalingPrediction(std::vector<int64_t> devices, const std::string& link, const RunConfig& config,
                    const std::vector<Variant>& variants);

  // For each measured run on one device in one process, predicts the speed on each of `devices`. On
  // CPUs it also measures the link between processes here. Returns points for the page's charts.
  std::vector<ModelledPoint> predict(const BenchReport& report);
  // Returns, after predict(), tables of the predictions, and of the model beside what was measured.
  const std::string& text() const { return text_; }

 private:
  std::vector<int64_t> devices_;
  Link link_;
  RunConfig config_;
  std::string text_;
};

}  // namespace spire
