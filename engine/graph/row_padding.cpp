// The pass that pads the rows of wide matrices, the only one that asks what kernels there are.
#include <cstdint>
#include <vector>

#include "engine/graph/passes.h"
#include "kernels/kernel.h"

namespace spire {
namespace {

// Matrices from this width on are padded to this multiple of elements, where their rows are no
// multiples of 16 bytes: such as logits over GPT-2's 50257 tokens.
constexpr int64_t min_width = 1024, multiple = 128;
constexpr int64_t aligned_bytes = 16;

// Returns the row pitch to pad to; 0 where no padding is needed.
int64_t padded_width(const TensorSpec& spec) {
  if (spec.shape.rank() < 2 || size_of(spec.dtype) != 2) return 0;
  int64_t width = spec.shape.back();
  if (width < min_width || width * 2 % aligned_bytes == 0) return 0;
  return (width + multiple - 1) / multiple * multiple;
}

// Pads matrices where all kernels that touch them support padded rows (KernelEntry::padded_rows; no
// CPU kernel does). A matrix and all its views get one pitch, or none of them does. Inputs and
// parameters are never padded.
class RowPadding {
 public:
  RowPadding(Graph& graph, DeviceId device) : graph_(graph), device_(device) {
    readers_.resize(static_cast<size_t>(graph.value_count()));
    for (const Node& node : graph.nodes()) {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        readers_[static_cast<size_t>(node.inputs[i].id)].push_back({&node, static_cast<int>(i)});
    }
  }

  int run() {
    int padded = 0;
    for (const Node& node : graph_.nodes()) padded += pad(node);
    return padded;
  }

 private:
  struct Reader {
    const Node* node;
    int input;
  };

  bool pad(const Node& node) {
    int64_t pitch = padded_width(graph_.spec(node.outputs[0]));
    if (pitch == 0 || node.op->is_view()) return false;
    if (!padded_rows(*node.op, device_).output) return false;
    std::vector<Value> same;
    if (!all_take_padding(node.outputs[0], same)) return false;
    for (Value value : same) graph_.set_row_pitch(value, pitch);
    return true;
  }

  // Returns true if all readers of the tensor and of its views support padding; appends them to
  // `same`.
  bool all_take_padding(Value value, std::vector<Value>& same) const {
    same.push_back(value);
    if (graph_.spec(value).shape.back() != graph_.spec(same[0]).shape.back()) return false;
    for (auto [node, input] : readers_[static_cast<size_t>(value.id)]) {
      bool takes = node->op->is_view() ? all_take_padding(node->outputs[0], same)
                                       : padded_rows(*node->op, device_).input == input;
      if (!takes) return false;
    }
    return true;
  }

  Graph& graph_;
  const DeviceId device_;
  std::vector<std::vector<Reader>> readers_;  // by tensor
};

}  // namespace

int pad_rows(Graph& graph, DeviceId device) {
  return RowPadding(graph, device).run();
}

}  // namespace spire
