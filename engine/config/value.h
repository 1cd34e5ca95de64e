// Reads YAML nodes as values of config fields, strictly. Private to this folder, as yaml-cpp is.
#pragma once
#include <yaml-cpp/yaml.h>

#include <spire/error.h>

#include "engine/config/layer_types.h"
#include "engine/config/schema.h"

namespace spire::inline config {

// Returns the text of a scalar; `expected` is for messages. Only words may be quoted: "5" is a word
// and no number. Throws Error(config) without a place for anything else.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted);

// read(node, T) returns the node as a T. Throws Error(config) without a place.
bool read(const YAML::Node& node, bool);
int64_t read(const YAML::Node& node, int64_t);
uint64_t read(const YAML::Node& node, uint64_t);
double read(const YAML::Node& node, double);
std::string read(const YAML::Node& node, const std::string&);
std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&);
std::vector<double> read(const YAML::Node& node, const std::vector<double>&);
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&);

// Describes a node for messages: "a list", "a map", "'text'".
std::string describe(const YAML::Node& node);

// A problem with a node inside a field's value.
struct NodeProblem {
  YAML::Mark mark;
  std::string path, text;  // "model.layers[3].conv2d.kernel", "0 is out of range; ..."
};

// All problems of one value.
class NodeProblems : public Error {
 public:
  explicit NodeProblems(std::vector<NodeProblem> all);
  const std::vector<NodeProblem>& all() const { return all_; }

 private:
  std::vector<NodeProblem> all_;  // at least one
};

// Returns the place of each layer of a list that read() accepts, inner ones included:
// {"model.layers[3].conv2d", mark}.
std::vector<std::pair<std::string, YAML::Mark>> layer_marks(const YAML::Node& list,
                                                            const std::string& path);

// Reads a list of layers, each a word or a map of one key: relu, or {conv2d: {channels: 32, kernel:
// 3}}. Values that equal their defaults are left out. Throws NodeProblems with all that is wrong.
std::vector<LayerConfig> read(const YAML::Node& node, const std::vector<LayerConfig>&);

// Sets the field from the node after a check of type, words and range. Returns the field's note on
// the value, mostly empty. Null resets a field with an `unset` meaning to its default. Throws
// Error(config) without place or path, or NodeProblems with both, and then changes nothing.
std::string assign(const Field& field, const YAML::Node& node, RunConfig& config);

// Checks words and range of the field's present value; throws Error(config).
void check_value(const Field& field, RunConfig& config);

}  // namespace spire::inline config
