#include "tools/models/model_table.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/config/schema.h"
#include "engine/config/transformer_sizes.h"
#include "models/model.h"

namespace spire {

std::vector<std::string> known_models() {
  return model_names();
}

std::vector<std::string> model_keys(const std::string& name) {
  std::vector<std::string> keys;
  for (const Field& field : schema())
    if (field.used_by.key == "model.name" && std::ranges::count(field.used_by.words, name) > 0)
      keys.emplace_back(leaf_of(field.path));
  return keys;
}

std::vector<std::string> model_sizes(const std::string& name) {
  std::vector<std::string> sizes;
  if (const TransformerFamily* family = find_transformer_family(name))
    for (const NamedSize& each : family->sizes) sizes.emplace_back(each.name);
  return sizes;
}

bool learns_from(const ModelConfig& model, const SampleSpec& data) {
  try {
    task_of(model, data.columns);
    return true;
  } catch (const Error&) {
    return false;
  }
}

int64_t count_parameters(const ModelConfig& model, const SampleSpec& data) {
  ModelInput input{.columns = data.columns,
                   .classes = data.classes,
                   .table = data.table,
                   .target_scale = data.target_scale};
  Graph graph = build_model(model, {}, input, true);
  int64_t count = 0;
  for (Value value : graph.values_of(Role::parameter)) count += graph.spec(value).shape.elements();
  return count;
}

}  // namespace spire
