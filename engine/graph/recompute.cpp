#include <algorithm>

#include "engine/graph/passes.h"

namespace spire::inline graph {
namespace {

constexpr size_t small_share = 32;  // a tensor of 1 / small_share of the block's largest is kept

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

  // Block of the forward node that makes the tensor; -1 when there is none.
  int block_of(Value value) const {
    int producer = graph_.tensor(value).producer;
    if (producer < 0) return -1;
    const Node& node = graph_.nodes()[static_cast<size_t>(producer)];
    return node.backward ? -1 : node.block;
  }
  bool comes_anew(Value value) const { return block_of(value) >= 0 && !kept_[index(value)]; }

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

  // Which tensors backward reads that are not kept, and where it first does.
  void find_readers() {
    const auto& nodes = graph_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (Value input : nodes[n].inputs) {
        if (!nodes[n].backward || !comes_anew(input)) continue;
        wanted_[index(input)] = true;
        auto& first = first_reader_[static_cast<size_t>(block_of(input))];
        first = std::min(first, n);
      }
    }
  }

  bool makes_wanted(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](Value output) { return wanted_[index(output)]; });
  }

  // What the repetitions read is wanted, too, up to what is kept.
  void want_ancestors() {
    const auto& nodes = graph_.nodes();
    for (size_t n = nodes.size(); n-- > 0;) {
      if (nodes[n].backward || nodes[n].block < 0 || !makes_wanted(nodes[n])) continue;
      for (Value input : nodes[n].inputs) {
        if (comes_anew(input)) wanted_[index(input)] = true;
      }
    }
  }

  Value anew(Value value) const {
    return index(value) < wanted_.size() && wanted_[index(value)] ? again_[index(value)] : value;
  }
  std::vector<Value> all_anew(std::vector<Value> values) const {
    for (Value& value : values) value = anew(value);
    return values;
  }

  void repeat_nodes() {
    again_.resize(wanted_.size());
    repetitions_.resize(first_reader_.size());
    for (const Node& node : graph_.nodes()) {
      if (node.backward || node.block < 0 || !makes_wanted(node)) continue;
      Node again = graph_.repetition(node, all_anew(node.inputs));
      for (size_t i = 0; i < node.outputs.size(); ++i)
        again_[index(node.outputs[i])] = again.outputs[i];
      repetitions_[static_cast<size_t>(node.block)].push_back(std::move(again));
      ++repeated_;
    }
  }

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
      if (node.backward) node.inputs = all_anew(std::move(node.inputs));
      nodes.push_back(std::move(node));
    }
    graph_.nodes() = std::move(nodes);
    graph_.reindex();
  }

  Graph& graph_;
  std::vector<bool> kept_;            // by tensor: it stays from forward to backward
  std::vector<bool> wanted_;          // by tensor: backward needs it made again
  std::vector<size_t> first_reader_;  // by block: position of the first node that needs it
  std::vector<Value> again_;          // by tensor: its repetition
  std::vector<std::vector<Node>> repetitions_;  // by block, in forward order
  size_t repeated_ = 0;
};

}  // namespace

int recompute_blocks(Graph& graph) {
  return Recomputation(graph).run();
}

}  // namespace spire::inline graph
