#include "engine/inference/token_decoder.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/graph/decoding.h"

namespace spire::inline inference {
namespace {

constexpr int64_t rows_at_a_time = 64;  // of a prompt

std::unique_ptr<Plan> make_plan(Graph graph, const LaneSpec& lane, const ParameterLayout& layout,
                                Replica& replica, CudaLibraries* cuda) {
  PlanOptions options{
      .device = lane.device, .threads = lane.threads, .step = false, .gradients = {}, .cuda = cuda};
  return std::make_unique<Plan>(std::move(graph), options, layout, replica.forms);
}

}  // namespace

TokenRows::TokenRows(Graph graph, const LaneSpec& lane, const ParameterLayout& layout,
                     Replica& replica, CudaLibraries* cuda)
    : replica_(replica),
      output_(graph.spec(graph.outputs().at("output"))),
      plan_(make_plan(std::move(graph), lane, layout, replica, cuda)),
      stream_(make_stream(lane.device)),
      graphs_(*plan_, *stream_),
      tokens_(static_cast<size_t>(output_.shape[1])),
      positions_(tokens_.size()) {}

void TokenRows::allocate(MemoryPool& memory) {
  arena_ = memory.allocate({{MemoryKind::activations, plan_->activation_bytes()},
                            {MemoryKind::workspace, plan_->workspace_bytes()}});
  auto row = static_cast<size_t>(output_.shape.back()) * size_of(output_.dtype);
  host_logits_ = allocate_staging(stream_->device(), row);
  std::vector<size_t> inputs(2, tokens_.size() * sizeof(int32_t));
  uploader_ = std::make_unique<BatchUploader>(*stream_, memory, inputs, 1, 1);
  bindings_.inputs.resize(inputs.size());
}

void TokenRows::run(std::span<const int32_t> tokens, int64_t first, std::span<float> logits) {
  std::fill(tokens_.begin(), tokens_.end(), 0);
  std::copy(tokens.begin(), tokens.end(), tokens_.begin());
  std::fill(positions_.begin(), positions_.end(), -1);  // rows that nothing reads
  std::iota(positions_.begin(), positions_.begin() + std::ssize(tokens),
            static_cast<int32_t>(first));
  // The replica is allocated after this was made, so its addresses are bound now.
  bindings_.weights = replica_.values();
  bindings_.packed = replica_.forms.data();
  bindings_.arena = arena_->as<std::byte>();
  bindings_.stream = stream_->native();
  auto host_rows = [](const std::vector<int32_t>& ids) {
    auto bytes = std::as_bytes(std::span(ids));
    return HostRows{bytes.data(), bytes.size()};
  };
  std::array inputs = {host_rows(tokens_), host_rows(positions_)};
  size_t slot = uploader_->upload(inputs, {}, bindings_);
  graphs_.run(bindings_);
  uploader_->release(slot);
  auto element = size_of(output_.dtype);
  const auto* rows = static_cast<const std::byte*>(plan_->output("output", bindings_.arena));
  rows += (tokens.size() - 1) * static_cast<size_t>(output_.pitch()) * element;
  stream_->copy(host_logits_->data(), rows, logits.size() * element);
  stream_->synchronize();
  copy_floats(host_logits_->data(), output_.dtype, logits);
}

TokenDecoder::TokenDecoder(const Shape& output)
    : context_(output[1]), logits_(static_cast<size_t>(output[2])) {}

std::unique_ptr<TokenRows> TokenDecoder::make_rows(Graph window, int64_t rows, const LaneSpec& lane,
                                                   const ParameterLayout& layout, Replica& replica,
                                                   CudaLibraries* cuda) {
  auto graph = decoding_graph(std::move(window), rows, cache_);
  if (!graph) return nullptr;
  Graph lowered = lower_for_evaluation(std::move(*graph), lane.device).graph;
  return std::make_unique<TokenRows>(std::move(lowered), lane, layout, replica, cuda);
}

std::unique_ptr<TokenDecoder> TokenDecoder::make(const GraphBuilder& build, const LaneSpec& lane,
                                                 const ParameterLayout& layout, Replica& replica,
                                                 CudaLibraries* cuda) {
  Graph window = build(1, false);
  Shape output = window.spec(window.outputs().at("output")).shape;
  std::unique_ptr<TokenDecoder> decoder(new TokenDecoder(output));
  decoder->one_ = decoder->make_rows(std::move(window), 1, lane, layout, replica, cuda);
  if (!decoder->one_) return nullptr;
  int64_t rows = std::min(rows_at_a_time, decoder->context_);
  decoder->several_ = decoder->make_rows(build(1, false), rows, lane, layout, replica, cuda);
  return decoder;
}

void TokenDecoder::allocate(MemoryPool& memory) {
  cache_.allocate(memory);
  one_->allocate(memory);
  several_->allocate(memory);
}

std::span<const float> TokenDecoder::logits(std::span<const int32_t> text) {
  bool continues =
      text.size() > read_.size() && std::ranges::equal(read_, text.first(read_.size()));
  // Where the window has slid, all positions have changed, and so have all keys and values.
  if (!continues) read_.clear();
  while (read_.size() < text.size()) {
    auto left = text.subspan(read_.size());
    TokenRows& plan = left.size() == 1 ? *one_ : *several_;
    auto tokens = left.first(std::min(left.size(), static_cast<size_t>(plan.rows())));
    plan.run(tokens, std::ssize(read_), logits_);
    read_.insert(read_.end(), tokens.begin(), tokens.end());
  }
  return logits_;
}

}  // namespace spire::inline inference
