// Predictions of trainer bench: speeds on more devices than there are, from the runs on one device.
#pragma once
#include <string>
#include <vector>

#include "tools/bench/prediction/links.h"
#include "tools/bench/report/bench_page.h"
#include "tools/bench/runs/variants.h"

namespace spire {

class ScalingPrediction {
 public:
  // devices: numbers of them whose speed to predict; link: as parse_link() reads it. Checks both
  // before anything is measured. Throws Error(config) for an unknown link
  // and where no variant has one device.
  ScalingPrediction(std::vector<int64_t> devices, const std::string& link, const RunConfig& config,
                    const std::vector<Variant>& variants);

  // Predicts from each point on one device that has run; returns the points for the page's charts.
  std::vector<ModelledPoint> predict(const BenchReport& report);
  // Returns tables of the predictions, and of the model beside what was measured.
  const std::string& text() const { return text_; }

 private:
  std::vector<int64_t> devices_;
  Link link_;
  RunConfig config_;
  std::string text_;
};

}  // namespace spire
