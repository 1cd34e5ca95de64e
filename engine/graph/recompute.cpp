#include <algorithm>

#include "engine/graph/passes.h"

namespace spire {
namespace {

constexpr size_t small_share = 32;  // tensors up to 1 / 32 of a block's largest are kept

// The pass in six steps; run() has their order. Tensors inside a block that backward reads are
// computed a second time, just before their first reader. A tensor is kept (stored from forward to
// backward) or wanted (computed again); others are not needed after forward. Kept are
//   - tensors that nodes outside of the block read in forward, outputs, state contributions;
//   - small tensors: statistics, keys of random numbers;
//   - sums over towers: towers wait for each other there, so none runs twice.
// A repetition has the id and inputs of its node, so its bits are equal; gradients stay the same
// tensors in the same order.
class Recomputation {
 public:
  explicit Recomputation(Graph& graph)
      : graph_(graph),
        kept_(static_cast<size_t>(graph.value_count()), false),
        wanted_(kept_.size(), false),
        first_reader_(graph.blocks().size(), no_reader) {}

  int run() {
    keep_what_leaves_blocks();
    keep_small_tensors();
    find_readers();
    want_ancestors();
    repeat_nodes();
    rebuild();
    return static_cast<int>(repeated_);
  }

 private:
  static constexpr size_t no_reader = SIZE_MAX;
  static size_t index(Value value) { return static_cast<size_t>(value.id); }

  // Returns the block of the forward node that computes the tensor; -1 where there is none.
  int block_of(Value value) const {
    int producer = graph_.tensor(value).producer;
    if (producer < 0) return -1;
    const Node& node = graph_.nodes()[static_cast<size_t>(producer)];
    return node.backward ? -1 : node.block;
  }
  bool may_repeat(Value value) const { return block_of(value) >= 0 && !kept_[index(value)]; }

  // Keeps tensors that are read outside of their block in forward, or after the run.
  void keep_what_leaves_blocks() {
    auto keep = [&](Value value) { kept_[index(value)] = true; };
    for (const Node& node : graph_.nodes()) {
      for (Value input : node.inputs) {
        if (!node.backward && node.block != block_of(input)) keep(input);
      }
      if (node.op->sums_towers()) keep(node.outputs[0]);
    }
    for (const auto& [name, value] : graph_.outputs()) keep(value);
    for (Value loss : graph_.losses()) keep(loss);
    for (const StateUpdate& update : graph_.state_updates()) keep(update.contribution);
  }

  // Keeps tensors whose memory is not worth a second computation.
  void keep_small_tensors() {
    std::vector<size_t> largest(first_reader_.size(), 0);
    auto each = [&](auto&& body) {
      for (const Node& node : graph_.nodes()) {
        if (node.backward || node.block < 0) continue;
        for (Value output : node.outputs)
          body(output, largest[static_cast<size_t>(node.block)], graph_.spec(output).bytes());
      }
    };
    each([](Value, size_t& most, size_t bytes) { most = std::max(most, bytes); });
    each([&](Value value, size_t most, size_t bytes) {
      if (bytes * small_share <= most) kept_[index(value)] = true;
    });
  }

  // Marks tensors that backward reads and that are not kept; finds the first such reader per block.
  void find_readers() {
    const auto& nodes = graph_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (Value input : nodes[n].inputs) {
        if (!nodes[n].backward || !may_repeat(input)) continue;
        wanted_[index(input)] = true;
        auto& first = first_reader_[static_cast<size_t>(block_of(input))];
        first = std::min(first, n);
      }
    }
  }

  bool makes_wanted(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](Value output) { return wanted_[index(output)]; });
  }

  // Marks what repetitions read, back to the kept tensors. One walk from the end suffices: inputs
  // come before their readers.
  void want_ancestors() {
    const auto& nodes = graph_.nodes();
    for (size_t n = nodes.size(); n-- > 0;) {
      if (nodes[n].backward || nodes[n].block < 0 || !makes_wanted(nodes[n])) continue;
      for (Value input : nodes[n].inputs) {
        if (may_repeat(input)) wanted_[index(input)] = true;
      }
    }
  }

  Value repeated(Value value) const {
    return index(value) < wanted_.size() && wanted_[index(value)] ? again_[index(value)] : value;
  }
  std::vector<Value> all_repeated(std::vector<Value> values) const {
    for (Value& value : values) value = repeated(value);
    return values;
  }

  // Copies the nodes of wanted tensors; their inputs are repetitions where those exist.
  void repeat_nodes() {
    again_.resize(wanted_.size());
    repetitions_.resize(first_reader_.size());
    for (const Node& node : graph_.nodes()) {
      if (node.backward || node.block < 0 || !makes_wanted(node)) continue;
      Node again = graph_.repetition(node, all_repeated(node.inputs));
      for (size_t i = 0; i < node.outputs.size(); ++i)
        again_[index(node.outputs[i])] = again.outputs[i];
      repetitions_[static_cast<size_t>(node.block)].push_back(std::move(again));
      ++repeated_;
    }
  }

  // Inserts each block's repetitions before its first reader, and lets backward read them.
  void rebuild() {
    std::vector<std::vector<size_t>> starts(graph_.nodes().size());
    for (size_t block = 0; block < first_reader_.size(); ++block) {
      if (first_reader_[block] != no_reader) starts[first_reader_[block]].push_back(block);
    }
    std::vector<Node> nodes;
    for (size_t n = 0; n < starts.size(); ++n) {
      for (size_t block : starts[n])
        std::ranges::move(repetitions_[block], std::back_inserter(nodes));
      Node& node = graph_.nodes()[n];
      if (node.backward) node.inputs = all_repeated(std::move(node.inputs));
      nodes.push_back(std::move(node));
    }
    graph_.nodes() = std::move(nodes);
    graph_.reindex();
  }

  Graph& graph_;
  std::vector<bool> kept_;            // by tensor: stored from forward to backward
  std::vector<bool> wanted_;          // by tensor: computed again for backward
  std::vector<size_t> first_reader_;  // by block: first backward node that reads a wanted tensor
  std::vector<Value> again_;          // by tensor: the output of its repetition
  std::vector<std::vector<Node>> repetitions_;  // by block, in forward order
  size_t repeated_ = 0;
};

}  // namespace

int recompute_blocks(Graph& graph) {
  return Recomputation(graph).run();
}

}  // namespace spire
