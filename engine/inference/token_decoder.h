// Logits of the next token of a text on one lane (a thread of a device). It keeps the keys and
// values of the tokens read so far (cached_attention.h), so that one more token costs one row of
// each layer instead of a whole window.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/graph/plan.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/model_graph.h"
#include "engine/train/replica.h"
#include "kernels/ops/cached_attention/key_value_cache.h"

namespace spire::inline inference {

// A plan that reads up to `rows` tokens of one text at a time.
class TokenRows {
 public:
  TokenRows(Graph graph, const LaneSpec& lane, const ParameterLayout& layout, Replica& replica,
            CudaLibraries* cuda);
  int64_t rows() const { return std::ssize(tokens_); }
  void allocate(MemoryPool& memory);  // on the lane's thread, like run()

  // Reads tokens at the positions from `first` on and waits. Writes the logits after the last one.
  void run(std::span<const int32_t> tokens, int64_t first, std::span<float> logits);

 private:
  Replica& replica_;
  TensorSpec output_;  // (1, rows, vocabulary); its rows may be padded
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Stream> stream_;
  CudaGraphCache graphs_;
  std::vector<int32_t> tokens_, positions_;  // (rows)
  std::unique_ptr<DeviceMemory> arena_, host_logits_;
  std::unique_ptr<BatchUploader> uploader_;
  Bindings bindings_;
};

class TokenDecoder {
 public:
  // build: of the training run; batches of one text. Returns null for a model that cannot be
  // decoded by a cache (decoding.h). Replica and cuda (null on a CPU) outlive it; the caller
  // allocates and packs the replica before logits().
  static std::unique_ptr<TokenDecoder> make(const GraphBuilder& build, const LaneSpec& lane,
                                            const ParameterLayout& layout, Replica& replica,
                                            CudaLibraries* cuda);
  void allocate(MemoryPool& memory);  // on the lane's thread, like logits()

  Shape output_shape() const { return {context_, std::ssize(logits_)}; }  // of a whole window

  void begin() { read_.clear(); }  // a new text: logits do not depend on the texts before
  // text: 1 to `context` tokens. Returns the logits (vocabulary) of the token that follows them. A
  // text that continues that of the last call costs its new tokens, any other one all of them.
  std::span<const float> logits(std::span<const int32_t> text);

 private:
  explicit TokenDecoder(const Shape& output);
  std::unique_ptr<TokenRows> make_rows(Graph window, int64_t rows, const LaneSpec& lane,
                                       const ParameterLayout& layout, Replica& replica,
                                       CudaLibraries* cuda);

  int64_t context_;
  KeyValueCache cache_;
  std::unique_ptr<TokenRows> one_, several_;
  std::vector<int32_t> read_;  // the tokens whose keys and values are in the cache
  std::vector<float> logits_;
};

}  // namespace spire::inline inference
