// Stream capture and graphs of the emulation.
#include <thread>

#include <gtest/gtest.h>
#include <tests/emulation/cuda_objects.h>

#include <spire/error.h>

#include "engine/device/cuda_kernel.h"

namespace spire {
namespace {

__global__ void add(int* out, const int* in, int by) {
  *out = *in + by;
}

// Captures what `work` puts on the stream, and returns the graph.
class TestGraph {
 public:
  template <typename Work>
  TestGraph(const TestStream& stream, const Work& work) {
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "begin");
    work();
    check_cuda(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
    check_cuda(cudaGraphInstantiate(&exec_, graph, 0), "cudaGraphInstantiate");
    check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  TestGraph(const TestGraph&) = delete;
  ~TestGraph() { cudaGraphExecDestroy(exec_); }
  void launch(const TestStream& stream) const {
    check_cuda(cudaGraphLaunch(exec_, stream.get()), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

void pass(const TestStream& from, const TestEvent& event, const TestStream& to) {
  check_cuda(cudaEventRecord(event.get(), from.get()), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(to.get(), event.get()), "cudaStreamWaitEvent");
}

TEST(EmulationGraphs, ReplaysWhatWasCaptured) {
  TestStream stream;
  DeviceInt number;
  number.set(0);
  TestGraph graph(stream, [&] {
    launch(add, 1, 1, stream.get(), number.get(), number.get(), 2);
    launch(add, 1, 1, stream.get(), number.get(), number.get(), 3);
  });
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(number.value(), 0);
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  launch(add, 1, 1, stream.get(), number.get(), number.get(), 100);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(number.value(), 115);
}

// A fork and a join through events. Without the join's wait the graph is refused; without the
// fork's there is no fork, and two branches that share memory show it.
TEST(EmulationGraphs, KeepsTheOrderOfForkAndJoin) {
  constexpr int tries = 64;
  TestStream stream, side;
  TestEvent forked, joined;
  DeviceInt number, left, right, sum;
  TestGraph graph(stream, [&] {
    launch(add, 1, 1, stream.get(), number.get(), number.get(), 1);
    pass(stream, forked, side);
    launch(add, 1, 1, side.get(), left.get(), number.get(), 10);
    launch(add, 1, 1, stream.get(), right.get(), number.get(), 20);
    pass(side, joined, stream);
    launch(add, 1, 1, stream.get(), sum.get(), left.get(), 1000);
  });
  number.set(0);
  for (int i = 1; i <= tries; ++i) {
    left.set(-1);
    right.set(-1);
    graph.launch(stream);
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    ASSERT_EQ(number.value(), i);
    ASSERT_EQ(left.value(), i + 10);
    ASSERT_EQ(right.value(), i + 20);
    ASSERT_EQ(sum.value(), i + 1010);
  }
}

TEST(EmulationGraphs, BranchesWithoutAWaitShow) {
  constexpr int tries = 64;
  TestStream stream, side;
  TestEvent forked, joined;
  DeviceInt number, read;
  TestGraph graph(stream, [&] {
    pass(stream, forked, side);
    launch(set_number, 1, 1, side.get(), number.get(), 1);
    launch(add, 1, 1, stream.get(), read.get(), number.get(), 0);
    pass(side, joined, stream);
  });
  int seen = 0;
  for (int i = 0; i < tries; ++i) {
    number.set(0);
    graph.launch(stream);
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    seen += read.value();
  }
  EXPECT_GT(seen, tries / 8);
  EXPECT_LT(seen, tries * 7 / 8);
}

// Work of other streams runs between the nodes of a graph.
TEST(EmulationGraphs, OtherStreamsRunBetweenTheNodesOfAGraph) {
  TestStream stream, other;
  DeviceInt number, read;
  TestGraph graph(stream, [&] {
    for (int i = 1; i <= 20; ++i) launch(set_number, 1, 1, stream.get(), number.get(), i);
  });
  bool between = false;
  for (int i = 0; i < 256; ++i) {
    number.set(0);
    graph.launch(stream);
    launch(add, 1, 1, other.get(), read.get(), number.get(), 0);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    between = between || (read.value() > 0 && read.value() < 20);
  }
  EXPECT_TRUE(between);
}

TEST(EmulationGraphs, ABranchThatIsNotJoinedIsRefused) {
  TestStream stream, side;
  TestEvent forked;
  DeviceInt number;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  pass(stream, forked, side);
  launch(set_number, 1, 1, side.get(), number.get(), 1);
  cudaStreamCaptureStatus status{};
  EXPECT_EQ(cudaStreamIsCapturing(side.get(), &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(side.get(), &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamIsCapturing(side.get(), &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
}

// Returns the error of `forbidden` during a capture; the capture must be invalid afterwards.
template <typename Call>
cudaError_t while_capturing(const Call& forbidden) {
  TestStream stream;
  check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "begin");
  cudaError_t result = forbidden(stream.get());
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  return result;
}

TEST(EmulationGraphs, ACaptureForbidsWaitsAndAllocations) {
  DeviceInt number;
  TestEvent event;
  int plain = 0;
  void* memory = nullptr;
  EXPECT_EQ(while_capturing([&](cudaStream_t stream) { return cudaStreamSynchronize(stream); }),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(while_capturing([&](cudaStream_t) { return cudaDeviceSynchronize(); }),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(while_capturing([&](cudaStream_t) { return cudaMalloc(&memory, 8); }),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(while_capturing([&](cudaStream_t) {
              return cudaMemcpy(number.get(), &plain, 4, cudaMemcpyHostToDevice);
            }),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(while_capturing([&](cudaStream_t stream) {
              return cudaMemcpyAsync(number.get(), &plain, 4, cudaMemcpyHostToDevice, stream);
            }),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(while_capturing([&](cudaStream_t stream) {
              check_cuda(cudaEventRecord(event.get(), stream), "cudaEventRecord");
              return cudaEventSynchronize(event.get());
            }),
            cudaErrorCapturedEvent);
  TestStream outside;
  check_cuda(cudaEventRecord(event.get(), outside.get()), "cudaEventRecord");
  EXPECT_EQ(while_capturing(
                [&](cudaStream_t stream) { return cudaStreamWaitEvent(stream, event.get()); }),
            cudaErrorStreamCaptureIsolation);
}

// The mode ThreadLocal forbids calls of the capturing thread only.
TEST(EmulationGraphs, OtherThreadsMayWaitDuringACapture) {
  TestStream stream;
  DeviceInt number, other;
  TestGraph graph(stream, [&] {
    launch(set_number, 1, 1, stream.get(), number.get(), 1);
    std::thread([&] {
      launch(set_number, 1, 1, nullptr, other.get(), 2);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(other.value(), 2);
    }).join();
  });
  graph.launch(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(number.value(), 1);
}

}  // namespace
}  // namespace spire
