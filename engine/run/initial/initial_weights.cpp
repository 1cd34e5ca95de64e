#include "engine/run/initial/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "engine/data/text/vocabulary.h"
#include "engine/weights/weight_match.h"
#include "models/model.h"

namespace spire {
namespace {

struct Difference {
  std::string key, theirs, ours;
};

// Without what tensors show, and what may change between two runs.
std::vector<LayerConfig> computation(std::vector<LayerConfig> layers) {
  for (LayerConfig& layer : layers) {
    for (const char* key : {"channels", "units", "width", "vocabulary", "init", "gamma", "momentum",
                            "rate", "dropout"})
      layer.values.erase(key);
    layer.layers = computation(std::move(layer.layers));
  }
  std::erase_if(layers, [](const LayerConfig& layer) { return layer.type == "dropout"; });
  return layers;
}

std::optional<Difference> first_other_layer(const ModelConfig& theirs, const ModelConfig& ours) {
  if (theirs.name != "layers" || ours.name != "layers") return std::nullopt;
  auto a = computation(theirs.layers), b = computation(ours.layers);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    auto text = [&](const std::vector<LayerConfig>& all) {
      return i < all.size() ? layers_text({all[i]}) : std::string("no layer");
    };
    if (text(a) != text(b))
      return Difference{fmt::format("model.layers, layer {} but dropout", i + 1), text(a), text(b)};
  }
  return std::nullopt;
}

std::vector<Difference> key_differences(const RunConfig& theirs, const RunConfig& ours) {
  std::vector<Difference> all;
  for (const char* key : {"model.upsample", "model.output_activation"}) {
    const Field& field = *find_field(key);
    if (unused(field, theirs) || unused(field, ours)) continue;
    std::string a = value_text(field, theirs), b = value_text(field, ours);
    if (a != b) all.push_back({key, a, b});
  }
  return all;
}

// "head.*" of head.weight
std::string layer_pattern(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.')) + ".*";
}

bool is_reused(const WeightMatch& match, const std::string& parameter) {
  return std::ranges::any_of(match.found(), [&](const FoundParameter& found) {
    return found.parameter.name == parameter;
  });
}

// names: theirs and ours. parameter: one of the layer that has an entry for each of them.
void compare_names(const char* what, const std::vector<std::string>& theirs,
                   const std::vector<std::string>& ours, const std::string& parameter,
                   const WeightMatch& match, Observer& observer) {
  bool comparable = theirs.size() == ours.size() && !theirs.empty() && theirs != ours;
  if (!comparable) return;
  std::string layer = layer_pattern(parameter);
  observer.on_warning(fmt::format(
      "init.from: the checkpoint has as many {} as the data, under other names or in another "
      "order: {} there, {} here; {}",
      what, quoted_list(theirs), quoted_list(ours),
      is_reused(match, parameter)
          ? fmt::format("the weights of {} are reused, one for the other in this order; "
                        "init.skip: ['{}'] starts them anew",
                        layer, layer)
          : fmt::format("the weights of {} start anew", layer)));
}

// Returns the text of each token; nothing where the vocabulary's files are gone or others now.
std::vector<std::string> tokens_of(const std::string& vocabulary) {
  std::vector<std::string> tokens;
  if (vocabulary.empty()) return tokens;
  try {
    auto opened = make_vocabulary(vocabulary);
    for (int32_t id = 0; id < opened->size(); ++id) tokens.push_back(opened->decode({&id, 1}));
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    tokens.clear();
  }
  return tokens;
}

// Returns the layers with a row or column a token: the first, and the head, where it has weights.
std::vector<std::string> layers_of_tokens(const Graph& own, const std::vector<Value>& parameters,
                                          int64_t tokens, const WeightMatch& match, bool reused) {
  std::vector<std::string> layers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto dims = own.tensor(parameters[i]).spec.shape.dims();
    bool at_end = i == 0 || i + 2 >= parameters.size();  // a head is a weight, and perhaps a bias
    if (!at_end || dims.size() != 2 || std::ranges::find(dims, tokens) == dims.end()) continue;
    const std::string& name = own.tensor(parameters[i]).name;
    if (is_reused(match, name) == reused) layers.push_back(layer_pattern(name));
  }
  return layers;
}

void compare_tokens(const SampleSpec& theirs, const SampleSpec& ours, const Graph& own,
                    const std::vector<Value>& parameters, const WeightMatch& match,
                    Observer& observer) {
  if (theirs.vocabulary == ours.vocabulary) return;
  std::vector<std::string> a = tokens_of(theirs.vocabulary), b = tokens_of(ours.vocabulary);
  if (a.size() != b.size() || a == b) return;
  std::optional<size_t> first;
  int64_t others = 0;
  for (size_t id = 0; id < a.size(); ++id) {
    if (a[id] == b[id]) continue;
    if (!first) first = id;
    ++others;
  }
  std::vector<std::string> taken = layers_of_tokens(own, parameters, std::ssize(a), match, true);
  observer.on_warning(fmt::format(
      "init.from: the checkpoint's vocabulary has as many tokens as the data's, but {} of {} are "
      "others: the first, {}, is '{}' there, '{}' here; {}",
      others, a.size(), *first, printable(a[*first]), printable(b[*first]),
      taken.empty()
          ? fmt::format(
                "the weights of {} start anew",
                fmt::join(layers_of_tokens(own, parameters, std::ssize(a), match, false), ", "))
          : fmt::format("the weights of {} are reused, those of one token for another; init.skip: "
                        "[{}] starts them anew",
                        fmt::join(taken, ", "), quoted_list(taken))));
}

// Warns if the checkpoint has as many classes, columns or tokens as the data, but with other names;
// says whether the layer concerned takes the file's weights or starts anew. match: the file's
// parameters and the model's.
void check_trained_names(const StateMetadata& trained, const WeightMatch& match,
                         const RunSetup& setup, const Graph& own, Observer& observer) {
  std::vector<Value> parameters = own.values_of(Role::parameter);
  if (parameters.empty() || trained.data_spec.empty()) return;
  SampleSpec theirs = sample_spec_from_text(trained.data_spec);
  const SampleSpec& ours = setup.data.train->spec();
  compare_names("classes", theirs.class_names, ours.class_names, own.tensor(parameters.back()).name,
                match, observer);
  compare_names("columns", theirs.feature_names, ours.feature_names,
                own.tensor(parameters.front()).name, match, observer);
  compare_tokens(theirs, ours, own, parameters, match, observer);
}

// Compares heads, epsilon, model.upsample, model.output_activation and the layers of model.layers
// (except widths, initializers and dropout). For a difference throws Error(checkpoint) with the key
// and both values; without init.strict it only warns, as for layers if init.skip leaves some out.
// Warns if the data is normalized otherwise (data.mean, data.stddev), or if the checkpoint's config
// cannot be read. from: the checkpoint, for messages. own: the run's graph for evaluation.
void check_trained_config(const StateMetadata& trained, const std::string& from,
                          const RunSetup& setup, const Graph& own, Observer& observer) {
  const InitConfig& init = setup.config.init;
  RunConfig theirs;
  auto report = [&](const Difference& found, bool warns) {
    std::string text = fmt::format("{}: {} is {}, but {} in this run, which no tensor shows", from,
                                   found.key, found.theirs, found.ours);
    if (!warns) fail(Category::checkpoint, "{}; use the same, or init.strict: false", text);
    observer.on_warning(text);
  };
  try {
    theirs = parse_config({{"config", trained.config_yaml}}, {}).config;
    SampleSpec spec = sample_spec_from_text(trained.data_spec);
    Graph graph = build_model(theirs.model, theirs.loss,
                              {.columns = spec.columns, .classes = spec.classes}, false);
    for (const AttentionFact& fact : other_attention(graph, own))
      report({fact.key, fact.first, fact.second}, !init.strict);
    for (const Difference& found : key_differences(theirs, setup.config))
      report(found, !init.strict);
    if (auto layer = first_other_layer(theirs.model, setup.config.model))
      report(*layer, !init.strict || !init.skip.empty());
    if (other_normalization(spec.normalization, setup.data.train->spec().normalization))
      observer.on_warning(fmt::format(
          "{}: its data was normalized by other means or deviations (data.mean, data.stddev) than "
          "this run's",
          from));
  } catch (const Error& error) {
    if (error.category() == Category::checkpoint) throw;
    observer.on_warning(fmt::format(
        "{}: heads, epsilon and activations are not checked, since its config cannot be read: {}",
        from, error.what()));
  }
}

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

bool other_normalization(const Normalization& a, const Normalization& b) {
  auto near = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::ranges::equal(
        x, y, [](double p, double q) { return std::abs(p - q) <= 1e-4 * (1 + std::abs(q)); });
  };
  return !near(a.mean, b.mean) || !near(a.stddev, b.stddev);
}

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
