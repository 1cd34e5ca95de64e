// Reads YAML nodes as values of config fields; a value of another type is an error. Private to this
// folder, as is the use of yaml-cpp.
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

namespace spire {

// Errors are Error(config) without line and column, which the caller adds.

// Returns the text of a scalar. expected: what messages say was expected, such as "an integer".
// may_be_quoted: if false, a quoted scalar is an error, as "5" in quotes is a word.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted);

// Return the node as a value of the second argument's type; the argument's value is ignored.
bool read(const YAML::Node& node, bool);
int64_t read(const YAML::Node& node, int64_t);
uint64_t read(const YAML::Node& node, uint64_t);
double read(const YAML::Node& node, double);
std::string read(const YAML::Node& node, const std::string&);
std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&);
std::vector<double> read(const YAML::Node& node, const std::vector<double>&);
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&);

// Reads a map of patterns and factors, in its order.
std::vector<WeightFactor> read(const YAML::Node& node, const std::vector<WeightFactor>&);

// Returns the words between the commas of a text as a list; a null node if a word is empty, or if
// the text has brackets or quotes, which YAML has to read.
YAML::Node words_at_commas(const std::string& text);

std::string describe(const YAML::Node& node);  // "a list", "a map", "'text'"

struct NodeProblem {
  YAML::Mark mark;         // line and column of a node in the value
  std::string path, text;  // "model.layers[3].conv2d.kernel", "0 is out of range; ..."
};

// Thrown with all problems of one field's value.
class NodeProblems : public Error {
 public:
  explicit NodeProblems(std::vector<NodeProblem> all);
  const std::vector<NodeProblem>& all() const { return all_; }

 private:
  std::vector<NodeProblem> all_;  // at least one
};

// Returns {"model.layers[3].conv2d", mark} for all layers in a list. REQUIRES: read() accepts it.
std::vector<std::pair<std::string, YAML::Mark>> layer_marks(const YAML::Node& list,
                                                            const std::string& path);

// Reads layers, each a word or a map of one key: relu, {conv2d: {channels: 32}}. Leaves out values
// that equal their defaults. Throws NodeProblems.
std::vector<LayerConfig> read(const YAML::Node& node, const std::vector<LayerConfig>&);

// Sets the field from the node, or throws and changes nothing. A null node resets the field to its
// default if Field::unset gives null a meaning. Returns what Field::note says, often "".
std::string assign(const Field& field, const YAML::Node& node, RunConfig& config);

void check_value(const Field& field, RunConfig& config);  // checks the present value, as assign()

}  // namespace spire
