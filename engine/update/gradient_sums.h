// Sums of gradients over the lanes of a member and of its peers, whose memory it reads. For each
// largest node of the fixed tree (tree.h) that has only their towers, a TreeSum adds up the buffers
// in which the lanes leave sums.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/update/lane_arithmetic.h"
#include "engine/update/ownership.h"

namespace spire {

struct NodeBuffer {  // a lane's gradient buffer, with the sum over the towers of one tree node
  TowerRange node;
  float* data = nullptr;
  DeviceId device = {};  // device in whose memory it is
};

class GradientSums {
 public:
  // buffers: those of the lanes of this member and its peers, in tower order. streams: one per lane
  // of this member. squares: one per chunk of the trained floats, in memory that the lanes' devices
  // can access. memory: pool of the device that exchanges, in whose memory the sums lie where there
  // are several members. All outlive this.
  GradientSums(const Ownership& who, int member, const std::vector<NodeBuffer>& buffers,
               std::vector<Stream*> streams, std::span<double> squares, MemoryPool& memory);
  // Bytes that it allocates. Does not read NodeBuffer::data.
  static size_t bytes(const Ownership& who, int member, const std::vector<NodeBuffer>& buffers,
                      DeviceId device);

  // Stores the sums of a range of whole chunks, and with one member squares them, on the lane's
  // stream. lane, here and below: its number among the member's lanes.
  void sum(int lane, FloatRange range);
  void sum(LaneArithmetic& arithmetic, FloatRange range);  // stores them on its stream
  // On a CPU with one member: makes and squares the sums of a chunk, and returns them from that of
  // chunk.begin on, valid until the lane's next call; they are stored nowhere else.
  const float* sum_chunk(int lane, FloatRange chunk);
  void square(LaneArithmetic& arithmetic, FloatRange range);  // squares sums that are stored

  std::span<float* const> nodes() const { return nodes_; }  // one buffer per node
  float* sums() const { return nodes_.front(); }
  int depth() const { return depth_; }  // of the deepest tree
  std::span<double> squares() const { return squares_; }
  std::span<Stream* const> streams() const { return streams_; }

 private:
  struct alignas(64) Lane {
    std::unique_ptr<LaneArithmetic> arithmetic;  // null on GPUs of several members
    Buffer scratch;                              // for sum_chunk()
  };
  const int64_t trained_;
  const bool alone_;  // one member
  int depth_ = 1;
  std::vector<TreeSum> trees_;
  std::vector<float*> nodes_;  // per tree: a leaf's buffer or staged_ memory
  std::vector<std::unique_ptr<DeviceMemory>> staged_;
  std::vector<Stream*> streams_;
  std::span<double> squares_;
  std::vector<Lane> lanes_;
};

}  // namespace spire
