// Reads YAML nodes as values of config fields, strictly. Private to this folder, as yaml-cpp is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include <spire/error.h>

#include "engine/config/layer_types.h"
#include "engine/config/schema.h"

namespace spire::inline config {

// These functions throw Error(config) without line and column, which the caller adds.

// Returns the text of a scalar. Only words may be quoted: "5" is a word and no number. expected:
// for messages.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted);

// Return the node as a value of the second argument's type.
bool read(const YAML::Node& node, bool);
int64_t read(const YAML::Node& node, int64_t);
uint64_t read(const YAML::Node& node, uint64_t);
double read(const YAML::Node& node, double);
std::string read(const YAML::Node& node, const std::string&);
std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&);
std::vector<double> read(const YAML::Node& node, const std::vector<double>&);
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&);

std::string describe(const YAML::Node& node);  // for messages: "a list", "a map", "'text'"

struct NodeProblem {
  YAML::Mark mark;         // of a node inside a field's value
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

// Returns {"model.layers[3].conv2d", mark} for each layer of a list that read() accepts, and for
// inner ones.
std::vector<std::pair<std::string, YAML::Mark>> layer_marks(const YAML::Node& list,
                                                            const std::string& path);

// Reads layers, each a word or a map of one key: relu, {conv2d: {channels: 32}}. Leaves out values
// that equal their defaults. Throws NodeProblems.
std::vector<LayerConfig> read(const YAML::Node& node, const std::vector<LayerConfig>&);

// Sets the field from the node, or throws and changes nothing. Null resets a field with an `unset`
// meaning to its default. Returns the field's note on the value, mostly empty.
std::string assign(const Field& field, const YAML::Node& node, RunConfig& config);

void check_value(const Field& field, RunConfig& config);  // throws Error(config), as assign() does

}  // namespace spire::inline config
