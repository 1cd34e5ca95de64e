// A model as a graph of ops over tensors with known shapes. Model code records it through the layer
// functions (layers.h); autodiff.h extends it backward; passes.h rewrites it; plan.h compiles it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <spire/base/philox.h>
#include <spire/kernels/op.h>

namespace spire {

enum class Role : uint8_t {
  activation,  // made by an op, lives in the arena
  input,       // handed in for every run
  parameter,   // fp32, trained
  state,       // fp32, running statistics: read in evaluation, averaged in training
};

// Fills a parameter's plain fp32 values. `random` is the parameter's own stream.
using Initializer = std::function<void(const RandomStream& random, std::span<float> values)>;

struct Tensor {
  TensorSpec spec;
  Role role = Role::activation;
  std::string name;        // of inputs, parameters and states: "conv1.weight"
  Initializer initialize;  // of parameters and states
  int producer = -1;       // node that makes it; -1 for the other roles
  int output_index = 0;    // which output of the producer
};

struct Node {
  std::unique_ptr<Op> op;
  std::vector<Value> inputs, outputs;
};

// A state's share of one step: running = (1 - momentum) * running + momentum * sum over towers.
struct StateUpdate {
  Value state, contribution;
  float momentum = 0.1f;
};

class Graph {
 public:
  // training: whether layers are built in their training form (dropout, batch statistics).
  explicit Graph(bool training) : training_(training) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  bool training() const { return training_; }

  Value input(const std::string& name, TensorSpec spec);
  // Names are unique; a second tensor of one name throws Error(config).
  Value parameter(const std::string& name, Shape shape, Initializer initialize);
  Value state(const std::string& name, Shape shape, float initial);

  // Appends an op; returns its outputs. Throws the op's shape errors.
  std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs);
  template <typename SomeOp, typename... Args>
  std::vector<Value> emit_op(std::vector<Value> inputs, Args&&... args) {
    return emit(std::make_unique<SomeOp>(std::forward<Args>(args)...), std::move(inputs));
  }

  // A loss: fp64 sum over the batch's samples. Its gradient is that of sum / global valid samples.
  void add_loss(Value loss) { losses_.push_back(loss); }
  // Keeps a tensor readable after a run, under a name ("loss", "correct").
  void mark_output(const std::string& name, Value value) { outputs_[name] = value; }
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

  // For passes: after nodes were replaced or removed, says anew which node makes which tensor.
  void reindex();

 private:
  Value add_tensor(Tensor tensor);

  bool training_;
  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::vector<Value> losses_;
  std::map<std::string, Value> outputs_;
  std::vector<StateUpdate> state_updates_;
};

}  // namespace spire
