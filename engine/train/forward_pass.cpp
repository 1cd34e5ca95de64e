#include "engine/train/forward_pass.h"

#include <algorithm>
#include <utility>

#include "engine/base/fail.h"
#include "engine/train/model_graph.h"

namespace spire {
namespace {

bool is_read(const Graph& graph, Value value) {
  const std::vector<Node>& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
  });
}

}  // namespace

void copy_rows(const TensorSpec& spec, const void* from, std::span<float> to) {
  bool padded = spec.row_pitch > 0;
  size_t row = padded ? static_cast<size_t>(spec.shape.back()) : to.size();
  size_t row_bytes = static_cast<size_t>(spec.row_pitch) * size_of(spec.dtype);
  const auto* at = static_cast<const std::byte*>(from);
  for (; !to.empty(); at += row_bytes) {
    auto part = to.first(std::min(row, to.size()));
    copy_floats(at, spec.dtype, part);
    to = to.subspan(part.size());
  }
}

OutputReader::OutputReader(const TensorSpec& largest, Stream& stream)
    : stream_(stream),
      staged_(allocate_staging(stream.device(), largest.bytes())),
      floats_(static_cast<size_t>(largest.shape.elements())) {}

std::span<const float> OutputReader::read(const TensorSpec& spec, const void* from) {
  stream_.copy(staged_->data(), from, spec.bytes());
  stream_.synchronize();
  std::span<float> floats = std::span(floats_).first(static_cast<size_t>(spec.shape.elements()));
  copy_rows(spec, staged_->data(), floats);
  return floats;
}

ForwardPass::ForwardPass(Graph graph, const LaneSpec& lane, const ParameterLayout& layout,
                         Replica& replica, CudaLibraries* cuda)
    : replica_(replica), stream_(make_stream(lane.device)) {
  graph.keep_output("output");
  graph = lower_for_evaluation(std::move(graph), lane.device).graph;
  output_ = graph.spec(graph.outputs().at("output"));
  std::vector<Value> inputs = graph.values_of(Role::input);
  bindings_.inputs.resize(inputs.size());
  size_t used = 1;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!is_read(graph, inputs[i])) continue;
    other_columns_.push_back(graph.tensor(inputs[i]).name);
    used = i + 1;
  }
  for (size_t i = 0; i < used; ++i) input_bytes_.push_back(graph.spec(inputs[i]).bytes());
  rows_.resize(used);
  PlanOptions options{
      .device = lane.device, .threads = lane.threads, .step = false, .gradients = {}, .cuda = cuda};
  plan_ = std::make_unique<Plan>(std::move(graph), options, layout, replica.forms);
}

MemoryUse ForwardPass::memory() const {
  return {{MemoryKind::activations,
           plan_->activation_bytes() + BatchUploader::bytes(stream_->device(), input_bytes_, 1)},
          {MemoryKind::workspace, plan_->workspace_bytes()}};
}

void ForwardPass::allocate(MemoryPool& memory) {
  arena_ = memory.allocate({{MemoryKind::activations, plan_->activation_bytes()},
                            {MemoryKind::workspace, plan_->workspace_bytes()}});
  // Pinned, so that the copy needs no staging of the driver's.
  host_output_ = allocate_staging(stream_->device(), output_.bytes());
  uploader_ = std::make_unique<BatchUploader>(*stream_, memory, input_bytes_, 1, 1);
}

void ForwardPass::copy_output(std::span<float> to) const {
  copy_rows(output_, host_output_->data(), to);
}

void ForwardPass::require_one_input() const {
  if (other_columns_.empty()) return;
  fail(Category::config,
       "the model's output reads column '{}' besides the first one, and outputs are computed "
       "from the first column alone; use evaluate(), or read all inputs from one column",
       other_columns_.front());
}

void ForwardPass::run(const void* rows) {
  require_one_input();
  run({&rows, 1}, replica_);
}

void ForwardPass::run(std::span<const void* const> rows, const Replica& weights) {
  // The replica is allocated after this was made, so its addresses are bound now.
  bindings_.weights = weights.values();
  bindings_.packed = weights.forms.data();
  bindings_.arena = arena_->as<std::byte>();
  bindings_.stream = stream_->native();
  for (size_t i = 0; i < rows_.size(); ++i)
    rows_[i] = {static_cast<const std::byte*>(rows[i]), input_bytes_[i]};
  size_t slot = uploader_->upload(rows_, {}, bindings_);
  plan_->run(bindings_);
  uploader_->release(slot);
  stream_->copy(host_output_->data(), plan_->output("output", bindings_.arena), output_.bytes());
  stream_->synchronize();
}

}  // namespace spire
