// A model as a graph of ops over tensors of known shapes. Layer functions (layers.h) record it. The
// library then appends its backward, rewrites it by passes and compiles it into a plan for a
// device.
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

#include <spire/export.h>
#include <spire/op.h>
#include <spire/random_stream.h>

namespace spire {

enum class Role : uint8_t {
  activation,  // computed by an op, in the arena
  input,       // given by the caller of each run
  parameter,   // fp32, trained unless it is frozen
  state,       // fp32, running statistics: evaluation reads them, training updates them
};

// Writes the fp32 values first, first + 1, ... of a parameter. Several threads fill parts of one
// parameter, so value i must depend on i and `random` alone, not on the parts. random: a stream for
// this parameter alone.
using Initializer =
    std::function<void(const RandomStream& random, int64_t first, std::span<float> values)>;

struct Tensor {
  TensorSpec spec;
  Role role = Role::activation;
  std::string name;        // for inputs, parameters and states: "conv1.weight"
  Initializer initialize;  // for parameters and states
  bool frozen = false;     // a parameter that training does not change
  bool teacher = false;    // belongs to a teacher (config.distill): frozen, and in no checkpoint
  int producer = -1;       // position of the node that computes it; -1 unless an activation
  int output_index = 0;    // index into the producer's outputs
};

struct Node {
  std::shared_ptr<const Op> op;  // shared by a node and its repetitions (Graph::repetition())
  std::vector<Value> inputs, outputs;
  int id = 0;             // key of the op's random numbers; a repetition has its original's id
  int block = -1;         // index into Graph::blocks(); -1: in no block
  bool backward = false;  // true: appended by differentiate() or a later pass
};

// Update of a running statistic after a training step:
//   state = (1 - momentum) * state + momentum * (sum over towers of contribution)
// A tower is one of the shares of a global batch.
struct StateUpdate {
  Value state, contribution;
  float momentum = 0.1f;
};

class SPIRE_API Graph {
 public:
  // Scope guard: the nodes that are emitted during its lifetime form a block, which backward may
  // recompute (recompute_blocks() in passes.h). Does nothing inside another block.
  class SPIRE_API Block {
   public:
    explicit Block(Graph& graph, const std::string& name = {});
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

   private:
    Graph* graph_;  // null inside another block
  };

  // training: true: dropout is on, norms use batch statistics. compute: dtype of activations that
  // are made from parameters alone, as by embedding().
  explicit Graph(bool training, DType compute = DType::f32)
      : training_(training), compute_(compute) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  bool training() const { return training_; }
  DType compute_dtype() const { return compute_; }

  // Add a tensor. Throw Error(config) if it has more than 2^40 elements, as all functions that add
  // one do; parameter(), state() and teacher() also if the name is taken.
  Value input(const std::string& name, TensorSpec spec);
  Value parameter(const std::string& name, Shape shape, Initializer initialize);
  Value state(const std::string& name, Shape shape, float initial);
  // Adds a teacher's parameter or state, and marks it as such: frozen.
  Value teacher(Tensor tensor);

  // Append an op and return its outputs. Throw what Op::infer throws for wrong shapes.
  std::vector<Value> emit(std::shared_ptr<const Op> op, std::vector<Value> inputs);
  template <typename SomeOp, typename... Args>
  std::vector<Value> emit_op(std::vector<Value> inputs, Args&&... args) {
    return emit(std::make_unique<SomeOp>(std::forward<Args>(args)...), std::move(inputs));
  }

  // Returns a node that computes the same again during backward: the op and id of `node`, hence its
  // random numbers, and new outputs. The caller adds it to nodes().
  Node repetition(const Node& node, std::vector<Value> inputs);

  // Adds a loss, an fp64 sum over samples. Gradients are those of the sum divided by the number of
  // valid samples of the global batch.
  void add_loss(Value loss) { losses_.push_back(loss); }
  // Makes a tensor a graph output, readable after a run by its name ("loss", "score").
  void mark_output(const std::string& name, Value value) { outputs_[name] = value; }
  // Keeps this output alone: drops all losses, state updates and other outputs, so that
  // remove_dead_nodes() can drop their nodes. REQUIRES: there is such an output.
  void keep_output(const std::string& name);
  // Makes it no output any more, if it is one: its nodes may go, and its memory be used again.
  void drop_output(const std::string& name) { outputs_.erase(name); }
  void update_state(StateUpdate update) { state_updates_.push_back(update); }
  void freeze(Value parameter) { tensors_[static_cast<size_t>(parameter.id)].frozen = true; }
  void set_initializer(Value value, Initializer initialize);  // of a parameter or state
  void drop_updates_from(const Node& node);  // drops state updates that it contributes to

  const TensorSpec& spec(Value value) const { return tensor(value).spec; }
  const Tensor& tensor(Value value) const { return tensors_[static_cast<size_t>(value.id)]; }
  std::vector<Value> values_of(Role role) const;  // in order of definition
  int value_count() const { return static_cast<int>(tensors_.size()); }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Value>& losses() const { return losses_; }
  const std::map<std::string, Value>& outputs() const { return outputs_; }
  const std::vector<StateUpdate>& state_updates() const { return state_updates_; }

  const std::vector<std::string>& blocks() const { return blocks_; }  // names of the blocks

  void reindex();       // updates tensors' producers; call it after a pass has changed nodes
  void number_nodes();  // sets each node's id to its position. REQUIRES: no repetitions
  void set_row_pitch(Value value, int64_t elements);  // sets TensorSpec::row_pitch, padding rows

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

// Row of the table of layers that `trainer plan` prints: one op with its size and cost.

// All numbers are for one forward pass over a whole batch.
struct LayerRow {
  // Name of the layer whose parameters the op reads: "stage1.block1.a.conv"; `op` if it reads none.
  std::string name;
  std::string op;                     // "conv2d"
  std::vector<int64_t> output_shape;  // (batch, ...), of the first output
  std::string output_type;            // "f32", "bf16", "f16", ...
  int64_t parameters = 0;             // trainable numbers; shared ones count only at the first op
  int64_t multiply_adds = 0;          // FLOPs are twice as many
  size_t activation_bytes = 0;        // bytes of all outputs; 0 for a view
};

}  // namespace spire
