// Reads YAML nodes as values of config fields, strictly. Not installed: yaml-cpp stays inside this
// folder.
#pragma once
#include <yaml-cpp/yaml.h>

#include <spire/error.h>

#include "engine/config/layer_types.h"
#include "engine/config/schema.h"

namespace spire::inline config {

// The text of a scalar; `expected` is for messages. Only words may be quoted: "5" is a string and
// no number. Throws Error(config) without a place for anything else.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted);

// read(node, T): the node as a T. Throws Error(config) without a place.
bool read(const YAML::Node& node, bool);
int64_t read(const YAML::Node& node, int64_t);
uint64_t read(const YAML::Node& node, uint64_t);
double read(const YAML::Node& node, double);
std::string read(const YAML::Node& node, const std::string&);
std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&);
std::vector<double> read(const YAML::Node& node, const std::vector<double>&);
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&);

// "a list", "a map", "'text'": what the node is, for messages.
std::string describe(const YAML::Node& node);

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

// Sets the field from the node, after checking type, allowed words and range, and returns the
// field's note of it, mostly empty. Null sets a field that has an `unset` meaning back to its
// default. Throws Error(config) without place or path, or
// NodeProblems with both; then the field's value is as before.
std::string assign(const Field& field, const YAML::Node& node, RunConfig& config);

// Words and ranges of the value that the field has now; throws Error(config).
void check_value(const Field& field, RunConfig& config);

}  // namespace spire::inline config
