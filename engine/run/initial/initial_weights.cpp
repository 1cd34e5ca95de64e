#include "engine/run/initial/initial_weights.h"

#include <optional>

#include "engine/run/initial/trained_config.h"
#include "engine/weights/weight_match.h"

namespace spire {
namespace {

// Open file, and what of it is the model's.
struct OpenWeights {
  OpenWeights(const RunSetup& setup, Observer& observer)
      : file(setup.config.init.from, [&](const std::filesystem::path&,
                                         const std::string& text) { observer.on_warning(text); }),
        match(file, setup.config.init, setup.config.model, graph(setup)) {
    if (const StateMetadata* state = file.state()) {
      check_trained_config(*state, file.path().string(), setup, graph(setup), observer);
      check_trained_names(*state, match, setup, graph(setup), observer);
    }
  }

  static Graph graph(const RunSetup& setup) {
    return setup.trainer_options().build_model_alone(1, false);
  }

  WeightFile file;
  WeightMatch match;
};

}  // namespace

std::string match_initial_weights(const RunSetup& setup, Observer& observer) {
  if (setup.config.init.from == "none" || setup.resumed) return "";
  return OpenWeights(setup, observer).match.text();
}

std::string load_initial_weights(const RunSetup& setup, TowerTrainer& trainer, Observer& observer) {
  if (setup.config.init.from == "none") return "";
  std::optional<OpenWeights> weights;
  if (setup.ranks.is_first()) weights.emplace(setup, observer);
  trainer.set_weights([&](const ParameterEntry& entry, std::span<float> values) {
    weights->match.read(entry.name, values);
  });
  return weights ? weights->match.text() : "";
}

}  // namespace spire
