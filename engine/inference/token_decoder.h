// Logits of the next tokens of several texts on one lane (a thread of a device). It keeps the keys
// and values of the tokens read so far (cached_attention.h), so that one more token of a text costs
// one row of each layer instead of a whole window, and one run serves all texts.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/model_graph.h"
#include "engine/train/replica.h"
#include "kernels/ops/cached_attention/cached_attention.h"

namespace spire {

// Tokens of a text, the first of which is at position `first`; no tokens: the text is left out.
struct TextPiece {
  std::span<const int32_t> tokens = {};
  int64_t first = 0;
};

// A plan that reads up to `rows` tokens of each text at a time.
class TokenRows {
 public:
  TokenRows(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
            CudaLibraries* cuda);
  int64_t rows() const { return output_.shape[1]; }
  void allocate(MemoryPool& memory);  // on the lane's thread, like run()

  // Reads a piece of each text and waits. Writes the logits after the last token of each piece to
  // the text's row of logits (texts, vocabulary).
  void run(std::span<const TextPiece> pieces, std::span<float> logits);

 private:
  Replica& replica_;
  TensorSpec output_;  // (texts, rows, vocabulary); its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Stream> stream_;
  CudaGraphCache graphs_;
  std::vector<int32_t> tokens_, positions_;  // (texts, rows)
  std::unique_ptr<DeviceMemory> arena_, host_logits_;
  std::unique_ptr<BatchUploader> uploader_;
  Bindings bindings_;
};

class TokenDecoder {
 public:
  // build: builds the model's graph; called for batches of `texts` samples. Returns null for a
  // model that cannot be decoded by a cache (decoding.h). Replica and cuda (null on a CPU) outlive
  // the decoder; the caller allocates and packs the replica before logits().
  static std::unique_ptr<TokenDecoder> make(const GraphBuilder& build, const LaneSpec& lane,
                                            const ParameterLayout& layout, Replica& replica,
                                            CudaLibraries* cuda, int64_t texts = 1);
  void allocate(MemoryPool& memory);  // on the lane's thread, like logits()

  int64_t texts() const { return std::ssize(read_); }
  Shape output_shape() const { return {context_, vocabulary_}; }  // of a whole window

  // Call it before a new text takes this place: forgets the tokens of the text before.
  void begin(size_t place) { read_[place].clear(); }
  // texts: one per place, of 1 to `context` tokens; empty: no text. Returns the logits (texts,
  // vocabulary) of the next tokens, valid until the next call; a row without a text means nothing.
  // A text that continues the one of the last call costs its new tokens only, any other all tokens.
  std::span<const float> logits(std::span<const std::span<const int32_t>> texts);

 private:
  TokenDecoder(const Shape& output, int64_t texts);
  TextPiece next_piece(size_t place, std::span<const int32_t> text, const TokenRows& plan) const;
  std::unique_ptr<TokenRows> make_rows(Graph window, int64_t rows, const LaneSpec& lane,
                                       const ParameterLayout& layout, Replica& replica,
                                       CudaLibraries* cuda);

  int64_t context_, vocabulary_;
  KeyValueCache cache_;
  std::unique_ptr<TokenRows> one_, several_;
  std::vector<std::vector<int32_t>> read_;  // of each text, the tokens that the cache has
  std::vector<TextPiece> pieces_;
  std::vector<float> logits_;  // (texts, vocabulary)
};

}  // namespace spire
