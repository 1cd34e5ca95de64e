// Finds the weights of a model in a file, under any names, and reads them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/graph.h"
#include "engine/weights/files/weight_file.h"
#include "engine/weights/names/name_table.h"

namespace spire {

// A parameter with the tensors of the file that it consists of.
struct FoundParameter {
  NamedParameter parameter;
  std::vector<size_t> tensors;  // of each of its parts
};

// A parameter that does not come from the file: it starts as in any new run.
struct NewParameter {
  std::string name;
  Shape shape;
  std::string tensor;          // name of the file's tensor, of another shape; empty: it has none
  std::optional<Shape> found;  // shape of that tensor
  bool skipped = false;        // by init.skip
};

class WeightMatch {
 public:
  // graph: of the model, from build_model() for evaluation, before any pass. `file` outlives this.
  // Throws Error(checkpoint) where init.strict demands more than the file has, where nothing of it
  // fits, where names: auto fits two layouts, or where the file's model computes something else;
  // Error(config) for entries of init.map and init.skip that name nothing, and for names that the
  // model does not have.
  WeightMatch(const WeightFile& file, const InitConfig& init, const ModelConfig& model,
              const Graph& graph);

  WeightNames names() const { return names_; }
  const std::vector<FoundParameter>& found() const { return found_; }
  const std::vector<NewParameter>& fresh() const { return fresh_; }
  const std::vector<std::string>& left_over() const { return left_over_; }  // tensors without use

  // Fills `values` (row-major, of the parameter's shape) and returns true; false if the parameter
  // is not in found(). Throws what reading throws.
  bool read(const std::string& parameter, std::span<float> values) const;

  // "62 tensors of FILE (torchvision names); new: fc.weight (10, 64); left out: 'head.weight'"
  std::string text() const;

 private:
  void check_computation(const Graph& graph);  // heads and epsilon, as far as the file has them
  void require_all() const;                    // init.strict

  const WeightFile& file_;
  WeightNames names_ = WeightNames::spire;
  std::vector<FoundParameter> found_;
  std::vector<NewParameter> fresh_;
  std::vector<std::string> left_over_;
  bool unchecked_ = false;  // heads and epsilon of a model with attention
};

}  // namespace spire
