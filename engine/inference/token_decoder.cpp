#include "engine/inference/token_decoder.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/base/fail.h"
#include "engine/graph/decoding.h"

namespace spire {
namespace {

// Of prompts: in all, and of each at least.
constexpr int64_t rows_at_a_time = 64, least_rows = 8;

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
      tokens_(static_cast<size_t>(output_.shape[0] * output_.shape[1])),
      positions_(tokens_.size()) {}

void TokenRows::allocate(MemoryPool& memory) {
  arena_ = memory.allocate({{MemoryKind::activations, plan_->activation_bytes()},
                            {MemoryKind::workspace, plan_->workspace_bytes()}});
  auto logits = static_cast<size_t>(output_.shape[0] * output_.shape[2]) * size_of(output_.dtype);
  host_logits_ = allocate_staging(stream_->device(), logits);
  std::vector<size_t> inputs(2, tokens_.size() * sizeof(int32_t));
  uploader_ = std::make_unique<BatchUploader>(*stream_, memory, inputs, 1, 1);
  bindings_.inputs.resize(inputs.size());
}

void TokenRows::run(std::span<const TextPiece> pieces, std::span<float> logits) {
  std::fill(tokens_.begin(), tokens_.end(), 0);
  std::fill(positions_.begin(), positions_.end(), -1);  // rows that nothing reads
  for (size_t text = 0; text < pieces.size(); ++text) {
    auto at = static_cast<std::ptrdiff_t>(text) * rows(), count = std::ssize(pieces[text].tokens);
    std::ranges::copy(pieces[text].tokens, tokens_.begin() + at);
    std::iota(positions_.begin() + at, positions_.begin() + at + count,
              static_cast<int32_t>(pieces[text].first));
  }
  // The replica is allocated after this was made, so its addresses are bound now.
  bindings_.weights = replica_.values();
  bindings_.packed = replica_.forms.data();
  bindings_.arena = arena_->as<std::byte>();
  bindings_.stream = stream_->native();
  auto host_rows = [](const std::vector<int32_t>& ids) {
    auto bytes = std::as_bytes(std::span(ids));
    return TowerRows{bytes.data(), bytes.size()};
  };
  std::array inputs = {host_rows(tokens_), host_rows(positions_)};
  size_t slot = uploader_->upload(inputs, {}, bindings_);
  graphs_.run(bindings_);
  uploader_->release(slot);
  const auto* output = static_cast<const std::byte*>(plan_->output("output", bindings_.arena));
  auto element = size_of(output_.dtype), vocabulary = static_cast<size_t>(output_.shape[2]);
  auto pitch = static_cast<size_t>(output_.pitch()), rows_of_text = static_cast<size_t>(rows());
  auto* host = host_logits_->as<std::byte>();
  for (size_t text = 0; text < pieces.size(); ++text) {
    if (pieces[text].tokens.empty()) continue;
    size_t last = text * rows_of_text + pieces[text].tokens.size() - 1;
    stream_->copy(host + text * vocabulary * element, output + last * pitch * element,
                  vocabulary * element);
  }
  stream_->synchronize();
  for (size_t text = 0; text < pieces.size(); ++text)
    if (!pieces[text].tokens.empty())
      copy_floats(host + text * vocabulary * element, output_.dtype,
                  logits.subspan(text * vocabulary, vocabulary));
}

TokenDecoder::TokenDecoder(const Shape& output, int64_t texts)
    : context_(output[1]),
      vocabulary_(output[2]),
      read_(static_cast<size_t>(texts)),
      pieces_(static_cast<size_t>(texts)),
      logits_(static_cast<size_t>(texts * output[2])) {}

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
                                                 CudaLibraries* cuda, int64_t texts) {
  Graph window = build(texts, false);
  Shape output = window.spec(window.outputs().at("output")).shape;
  std::unique_ptr<TokenDecoder> decoder(new TokenDecoder(output, texts));
  decoder->one_ = decoder->make_rows(std::move(window), 1, lane, layout, replica, cuda);
  if (!decoder->one_) return nullptr;
  int64_t rows = std::min(std::max(rows_at_a_time / texts, least_rows), decoder->context_);
  decoder->several_ = decoder->make_rows(build(texts, false), rows, lane, layout, replica, cuda);
  return decoder;
}

void TokenDecoder::allocate(MemoryPool& memory) {
  cache_.allocate(memory);
  one_->allocate(memory);
  several_->allocate(memory);
}

TextPiece TokenDecoder::next_piece(size_t place, std::span<const int32_t> text,
                                   const TokenRows& plan) const {
  std::span<const int32_t> left = text.subspan(std::min(read_[place].size(), text.size()));
  return {left.first(std::min(left.size(), static_cast<size_t>(plan.rows()))),
          std::ssize(read_[place])};
}

std::span<const float> TokenDecoder::logits(std::span<const std::span<const int32_t>> texts) {
  require(texts.size() == read_.size(), "{} texts for {} places", texts.size(), read_.size());
  for (size_t place = 0; place < texts.size(); ++place) {
    std::vector<int32_t>& read = read_[place];
    std::span<const int32_t> text = texts[place];
    bool continues = text.size() > read.size() && std::ranges::equal(read, text.first(read.size()));
    // Where the window has slid, all positions have changed, and so have all keys and values.
    if (!continues) read.clear();
  }
  for (;;) {
    size_t most = 0;  // tokens that a text has left
    for (size_t place = 0; place < texts.size(); ++place)
      most =
          std::max(most, texts[place].size() - std::min(texts[place].size(), read_[place].size()));
    if (most == 0) return logits_;
    TokenRows& plan = most == 1 ? *one_ : *several_;
    for (size_t place = 0; place < texts.size(); ++place)
      pieces_[place] = next_piece(place, texts[place], plan);
    plan.run(pieces_, logits_);
    for (size_t place = 0; place < texts.size(); ++place)
      read_[place].insert(read_[place].end(), pieces_[place].tokens.begin(),
                          pieces_[place].tokens.end());
  }
}

}  // namespace spire
