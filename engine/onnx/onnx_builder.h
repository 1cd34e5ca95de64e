// Turns a graph into ONNX's nodes: knows which tensors of ONNX hold a value, and transposes images
// between Spire's order of axes and ONNX's where a node needs the other order.
//
// A value of rank 3 or more lies in one of two orders, or in both: as in Spire, with the channels
// last (N, H, W, C), or with the channels first (N, C, H, W), which ONNX's nodes for images read.
// Sequences (N, T, C) may also lie step by step (T, N, C), as ONNX's recurrent nodes have them. A
// value that only reshapes another one has no tensor until a node needs its shape.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/onnx/onnx_graph.h"

namespace spire {

enum class Channels : uint8_t { last, first };

// A model for ONNX: its graph for two numbers of samples. Dimensions that differ between the two
// depend on the number of samples. If both are the same graph, that number is fixed.
struct BatchGraphs {
  const Graph& one;  // its nodes are translated; has the output "output" alone
  const Graph& two;
};

class OnnxBuilder {
 public:
  // Declares the graph's first input, images with the channels first, under its own name.
  OnnxBuilder(const BatchGraphs& graphs, int64_t opset);

  const Graph& graph() const { return graphs_.one; }
  int64_t opset() const { return opset_; }
  // Nodes that are added from now on get names that begin with the name of this node's layer.
  void begin(const Node& node);

  const Shape& shape(Value value) const { return graph().spec(value).shape; }
  OnnxDims dims(Value value) const;  // with the channels last

  // Return the tensor that holds a value in this order; add nodes if there is none yet.
  std::string plain(Value value);              // as in Spire, with the channels last
  std::string channels_first(Value value);     // REQUIRES: rank 3 or more
  std::string by_step(Value value);            // (T, N, C). REQUIRES: rank 3
  std::string transposed_weight(Value value);  // of a matrix
  bool is_channels_first(Value value) const;   // whether any_form() has this order

  // Set the tensor that holds a value.
  void define(Value value, std::string tensor, Channels order = Channels::last);
  void define_by_step(Value value, std::string tensor);
  void define_view(Value value, Value of);  // the same elements in Spire's order, another shape
  bool is_defined(Value value) const { return places_[index_of(value)] != nullptr; }

  // For nodes that work element by element. any_form() returns a tensor of the value that needs no
  // new node. same_form() returns tensors of both values in one order and shape, which may be those
  // before a reshape. define_as() gives the result the order and shape of `like`.
  std::string any_form(Value value);
  std::pair<std::string, std::string> same_form(Value a, Value b);
  void define_as(Value value, std::string tensor, Value like);

  // For x (N, ..) plus a parameter b that is added to each sample: if both reshape tensors whose
  // samples have the same shape (T, C), returns these tensors; else nullopt.
  std::optional<std::pair<std::string, std::string>> unshaped(Value x, Value b);

  // Adds a node and returns its output, or outputs.
  std::string add(const std::string& op, std::vector<std::string> inputs,
                  std::vector<OnnxAttribute> attributes = {});
  std::vector<std::string> add_many(const std::string& op, std::vector<std::string> inputs,
                                    std::vector<OnnxAttribute> attributes, size_t outputs);

  // Constants; the same content is one tensor.
  std::string whole_numbers(const std::vector<int64_t>& numbers);
  std::string number(float value);  // a scalar
  // name: of the tensor; equal names must mean equal content.
  std::string numbers(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values);
  // (T, T): true where column <= row. Nodes compute it, as T x T numbers would fill the file.
  std::string causal_mask(int64_t length);
  // Returns the tensor that a Reshape from `from` to `to` takes as its shape.
  std::string target_shape(const OnnxDims& to, const OnnxDims& from);
  // Returns the dimensions as a tensor of numbers, even if the first is the number of samples.
  std::string shape_tensor(const OnnxDims& dims);

  // Returns the only node that reads a value; null if several do, or if the value is an output.
  const Node* only_reader(Value value) const;

  // Names the output and returns the graph. images: the output has the channels first.
  OnnxGraph finish(const std::string& output, bool images);

 private:
  struct Place {
    OnnxDims dims;            // with the channels last
    std::string last, first;  // the tensors; empty where there is none yet
    std::string steps;        // that of a sequence, step by step
    Channels native = Channels::last;
  };
  static size_t index_of(Value value) { return static_cast<size_t>(value.id); }
  Place& place(Value value);
  void set(Value value, OnnxDims dims, std::string tensor, Channels order);
  Place& shaped(Value value);  // with the value's own dimensions
  std::string transposed(const std::string& tensor, std::vector<int64_t> axes);
  std::string& last_of(Place& place);
  std::string& first_of(Place& place);
  std::string constant(const std::string& name, OnnxType type, std::vector<int64_t> dims,
                       std::string bytes);
  std::string unique(const std::string& name, std::set<std::string>& taken);
  void rename(const std::string& from, const std::string& to);

  BatchGraphs graphs_;
  int64_t opset_;
  OnnxGraph result_;
  std::string layer_;
  std::vector<std::shared_ptr<Place>> places_;  // by value; views share one
  std::vector<std::vector<size_t>> readers_;    // by value: positions of nodes
  std::set<std::string> node_names_, tensor_names_;
  std::map<std::string, std::string> transposed_;  // weight -> its transpose
  std::map<int64_t, std::string> causal_masks_;    // by length
  std::string batch_;                              // the number of samples, a tensor (1)
};

}  // namespace spire
