#include "tools/bench/runs/synthetic_data.h"

#include <span>

#include <spire/error.h>

#include "engine/config/check.h"
#include "engine/data/dataset.h"

namespace spire {
namespace {

SampleSpec spec_of(const RunConfig& config) {
  try {
    return open_dataset(config.data, {.seed = config.seed}).train->spec();
  } catch (const Error& error) {
    throw Error(
        error.category(),
        fmt::format("{}; the benchmark needs the form of the config's samples also for "
                    "synthetic data; mend data, or describe the samples: data.name=synthetic "
                    "data.synthetic.kind=... data.synthetic.shape=... "
                    "data.synthetic.classes=...",
                    error.what()));
  }
}

SyntheticConfig::Kind kind_of(const SampleSpec& spec) {
  const std::string& input = spec.columns.front().name;
  if (input == "tokens") return SyntheticConfig::Kind::tokens;
  bool labels = spec.find("labels") != nullptr;
  if (labels && input == "images") return SyntheticConfig::Kind::images;
  if (labels && input == "features") return SyntheticConfig::Kind::features;
  fail(Category::config,
       "data.name: the synthetic dataset has labels, and a model of this dataset predicts numbers; "
       "use --data real");
}

}  // namespace

void use_synthetic_data(RunConfig& config) {
  if (config.data.name == "synthetic") return;
  check_config(config);
  SampleSpec spec = spec_of(config);
  std::span<const int64_t> shape = spec.columns.front().shape.dims();
  DataConfig data;
  data.name = "synthetic";
  data.workers = config.data.workers;
  data.prefetch = config.data.prefetch;
  data.last_batch = config.data.last_batch;
  data.synthetic.kind = kind_of(spec);
  data.synthetic.shape.assign(shape.begin(), shape.end());
  data.synthetic.classes = spec.classes;
  config.data = data;
}

}  // namespace spire
