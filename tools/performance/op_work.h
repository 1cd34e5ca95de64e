// The work of each op of a graph, floating-point operations and bytes, as the roofline model counts
// it (Williams, Waterman, Patterson: "Roofline: an insightful visual performance model for
// multicore architectures", 2009). Reports compare estimated and measured times of ops with it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire {

enum class Pass : uint8_t { forward, backward, update };
std::string word_of(Pass pass);

struct OpWork {
  std::string layer, op;  // layer: as `trainer plan` names it; empty if the op has no weights
  std::string shapes;     // "64x28x28x16, 32x3x3x16 -> 64x28x28x32"
  Pass pass = Pass::forward;
  DType type = DType::f32;  // it computes in: that of its 16-bit tensors, else fp32
  double flops = 0;         // 2 per multiply-add; 0 for ops without products
  double bytes = 0;         // read and written

  bool same_kind(const OpWork& other) const { return op == other.op && pass == other.pass; }
};

// Returns the work of each node that is no view, in the graph's order: one entry per kernel of the
// graph's Plan. Each tensor counts once, with three exceptions: products read parameters in the
// compute type; an embedding touches as many rows of its table as there are tokens; batch norm
// reads its activations twice.
std::vector<OpWork> work_of(const Graph& graph, const std::vector<ParameterGradient>& gradients);

// What a device reaches: time of an op = max(FLOPs / rate, bytes / bandwidth) + launches.
struct Roofline {
  double fp32 = 0, bf16 = 0, fp16 = 0;  // FLOP/s in each type; 0: unknown
  double bytes_per_s = 0;               // read and written; 0: unknown
  // Shares of the FLOP/s that matrix products, convolutions and attention reach.
  double product = 1, convolution = 1, attention = 1;
  double launch_seconds = 0;  // of a kernel

  double peak(DType type) const {
    return type == DType::bf16 ? bf16 : type == DType::f16 ? fp16 : fp32;
  }
  double bytes_seconds(double bytes) const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
  double seconds(const OpWork& op) const;  // 0 where nothing is known
};

// An op with its time, measured or estimated.
struct OpTime : OpWork {
  double seconds = 0;
  double roofline_seconds = 0;                                        // 0: unknown
  double lost_seconds() const { return seconds - roofline_seconds; }  // < 0: data was in a cache
};

// Returns the sum of all numbers of the ops, of one pass if it is given.
OpTime sum_of(const std::vector<OpTime>& ops, std::optional<Pass> pass = {});
// Returns the sum of each kind of op in each pass, the longest first.
std::vector<OpTime> sums_by_kind(const std::vector<OpTime>& ops);

}  // namespace spire
