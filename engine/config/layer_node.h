// model.layers from YAML. Not installed: yaml-cpp stays inside this folder.
#pragma once
#include <spire/error.h>

#include "engine/config/layer_types.h"
#include "engine/config/node.h"

namespace spire::inline config {

// Something wrong with a node inside a field's value.
struct NodeProblem {
  YAML::Mark mark;
  std::string path, text;  // "model.layers[3].conv2d.kernel", "0 is out of range; ..."
};

class NodeProblems : public Error {
 public:
  explicit NodeProblems(std::vector<NodeProblem> all);
  const std::vector<NodeProblem>& all() const { return all_; }

 private:
  std::vector<NodeProblem> all_;  // at least one
};

// Where each layer of a list that read() takes stands: {"model.layers[3].conv2d", mark}, and so of
// those inside.
std::vector<std::pair<std::string, YAML::Mark>> layer_marks(const YAML::Node& list,
                                                            const std::string& path);

// A list of layers, each a word or a map of one key: relu, or {conv2d: {channels: 32, kernel: 3}}.
// Values that equal their defaults are left out. Throws NodeProblems with all that is wrong.
std::vector<LayerConfig> read(const YAML::Node& node, const std::vector<LayerConfig>&);

}  // namespace spire::inline config
