#include "engine/graph/plan_observer.h"

#include <fmt/format.h>

namespace spire {

std::string TensorName::text() const {
  if (op == "input") return "input " + parameter;
  std::string text = parameter.empty() ? op : fmt::format("gradient of {}, by {}", parameter, op);
  if (parameter.empty() && !layer.empty()) text += " of " + layer;
  if (output > 0) text += fmt::format(", output {}", output);
  return parameter.empty() && backward ? text + ", backward" : text;
}

std::string TensorName::kernel() const {
  return layer.empty() ? op : op + " of " + layer;
}

}  // namespace spire
