// A model as a graph of ops over tensors of known shapes. Layer functions (layers.h) record it,
// differentiate() extends it backward, passes (passes.h) rewrite it, Plan (plan.h) compiles it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <spire/layer_row.h>

#include "engine/base/philox.h"
#include "kernels/op.h"

namespace spire::inline graph {

enum class Role : uint8_t {
  activation,  // made by an op, lives in the arena
  input,       // given to every run
  parameter,   // fp32, trained
  state,       // fp32, running statistics: read in evaluation, averaged in training
};

// Fills a parameter's fp32 values from a stream for this parameter alone.
using Initializer = std::function<void(const RandomStream& random, std::span<float> values)>;

struct Tensor {
  TensorSpec spec;
  Role role = Role::activation;
  std::string name;        // of inputs, parameters and states: "conv1.weight"
  Initializer initialize;  // of parameters and states
  int producer = -1;       // node that computes it; -1 for other roles
  int output_index = 0;    // which output of the producer
};

struct Node {
  std::shared_ptr<const Op> op;  // shared by a node and its repetition
  std::vector<Value> inputs, outputs;
  int id = 0;             // keys random numbers; a repetition has the id of its original
  int block = -1;         // index in Graph::blocks(); -1: none
  bool backward = false;  // appended by differentiate(), or later
};

// running = (1 - momentum) * running + momentum * sum over towers of the contribution.
struct StateUpdate {
  Value state, contribution;
  float momentum = 0.1f;
};

class Graph {
 public:
  // Scope of nodes that backward may recompute together (recompute_blocks); no-op inside another
  // one.
  class Block {
   public:
    explicit Block(Graph& graph, const std::string& name = {});
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

   private:
    Graph* graph_;  // null: inside another block
  };

  // training: dropout, batch statistics. compute: dtype of activations that depend on no other one.
  explicit Graph(bool training, DType compute = DType::f32)
      : training_(training), compute_(compute) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  bool training() const { return training_; }
  DType compute_dtype() const { return compute_; }

  // Throws Error(config) for a tensor of more than 2^40 elements, as all functions here do.
  Value input(const std::string& name, TensorSpec spec);
  // Throw Error(config) for a name that is taken.
  Value parameter(const std::string& name, Shape shape, Initializer initialize);
  Value state(const std::string& name, Shape shape, float initial);

  // Appends an op and returns its outputs. Throws the op's shape errors.
  std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs);
  template <typename SomeOp, typename... Args>
  std::vector<Value> emit_op(std::vector<Value> inputs, Args&&... args) {
    return emit(std::make_unique<SomeOp>(std::forward<Args>(args)...), std::move(inputs));
  }

  // Returns a copy of a node, not yet part of the graph: its op and id, with new outputs.
  Node repetition(const Node& node, std::vector<Value> inputs);

  // Adds a loss, an fp64 sum over samples; gradients divide it by the global batch's valid samples.
  void add_loss(Value loss) { losses_.push_back(loss); }
  // Makes a tensor readable after a run, by a name ("loss", "score").
  void mark_output(const std::string& name, Value value) { outputs_[name] = value; }
  // Drops losses and all other outputs: remove_dead_nodes() then leaves what this output needs.
  void keep_output(const std::string& name);
  void update_state(StateUpdate update) { state_updates_.push_back(update); }

  const TensorSpec& spec(Value value) const { return tensor(value).spec; }
  const Tensor& tensor(Value value) const { return tensors_[static_cast<size_t>(value.id)]; }
  std::vector<Value> values_of(Role role) const;  // in order of definition
  int value_count() const { return static_cast<int>(tensors_.size()); }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Value>& losses() const { return losses_; }
  const std::map<std::string, Value>& outputs() const { return outputs_; }
  const std::vector<StateUpdate>& state_updates() const { return state_updates_; }

  const std::vector<std::string>& blocks() const { return blocks_; }  // their names

  void reindex();       // after a pass has changed nodes: updates tensors' producers
  void number_nodes();  // sets ids to positions. REQUIRES: no repetitions
  void set_row_pitch(Value value, int64_t elements);  // pads rows (TensorSpec)

 private:
  Value add_tensor(Tensor tensor);
  Value add_output(const TensorSpec& spec, int producer, size_t index);

  bool training_;
  DType compute_;
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string> names_;  // of inputs, parameters and states
  std::vector<Node> nodes_;
  std::vector<Value> losses_;
  std::map<std::string, Value> outputs_;
  std::vector<StateUpdate> state_updates_;
  std::vector<std::string> blocks_;
  int open_block_ = -1;
};

struct ParameterGradient {
  Value parameter, gradient;
};

// Appends the gradient of the losses (Op::gradient). Returns parameters in the order in which their
// gradients become complete. Throws Error(config) for one that no loss needs.
std::vector<ParameterGradient> differentiate(Graph& graph);

// Returns shapes, parameters and costs of a forward graph's layers. REQUIRES: not differentiated.
std::vector<LayerRow> layer_table(const Graph& graph);

LayerRow total_of(const std::vector<LayerRow>& rows);  // sums, without op and output

}  // namespace spire::inline graph
