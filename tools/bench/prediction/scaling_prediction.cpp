#include "tools/bench/prediction/scaling_prediction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <spire/error.h>

#include "engine/config/words.h"
#include "tools/bench/prediction/prediction.h"
#include "tools/bench/report/bench_report.h"

namespace spire {
namespace {

bool is_base(const Variant& variant) {
  return variant.devices == 1 && variant.processes == 1;
}

Reduction reduction_of(const RunConfig& config) {
  return config.reduction == RunConfig::Reduction::native ? Reduction::native
                                                          : Reduction::invariant;
}

const Ceilings& ceilings_of(const BenchReport& report, Kind kind) {
  auto found = std::ranges::find_if(report.ceilings, [&](const Ceilings& ceilings) {
    return ceilings.kind == kind && ceilings.devices == 1;
  });
  require(found != report.ceilings.end(), "no ceilings of one device");
  return *found;
}

}  // namespace

ScalingPrediction::ScalingPrediction(std::vector<int64_t> devices, const std::string& link,
                                     const RunConfig& config, const std::vector<Variant>& variants)
    : devices_(std::move(devices)), link_(parse_link(link)), config_(config) {
  if (std::ranges::none_of(variants, is_base))
    fail(Category::config,
         "--predict starts from a run on one device in one process; add 1 to --counts and to "
         "--processes");
}

std::vector<ModelledPoint> ScalingPrediction::predict(const BenchReport& report) {
  std::vector<ModelledPoint> modelled;
  std::optional<Link> local;  // between processes of this host
  for (const Point& point : report.points) {
    const Variant& variant = point.variant;
    if (!is_base(variant) || point.rounds.empty()) continue;
    const Ceilings& ceilings = ceilings_of(report, variant.kind);
    StepProfile profile = profile_of(config_, variant, median_round(point), ceilings);
    CommunicationModel model{.link = link_,
                             .gamma = gamma_of(ceilings),
                             .strategy = variant.strategy,
                             .reduction = reduction_of(config_),
                             .overlaps = variant.kind == Kind::cuda};
    auto points = predict_scaling(profile, model, std::vector{variant.scaling}, devices_);
    text_ += to_text(profile, model, points);
    std::string label = fmt::format("{}, {}, {}", word_of(variant.precision),
                                    word_of(variant.strategy), link_.name);
    for (const PredictedPoint& predicted : points)
      if (predicted.error.empty())
        modelled.push_back({variant.scaling, predicted.devices, predicted.samples_per_s, label});
    if (variant.kind != Kind::cpu) continue;
    if (!local) local = measure_local_link();
    model.link = *local;
    text_ += compare_with_measured(profile, model, report.points);
  }
  return modelled;
}

}  // namespace spire
