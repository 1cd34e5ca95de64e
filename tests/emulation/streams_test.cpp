// Tests of emulated streams and events: ordered work is in order, and a missing wait shows.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <tests/emulation/cuda_objects.h>
#include <tests/emulation/devices.h>

#include <spire/error.h>

#include "engine/device/cuda_kernel.h"

namespace spire {
namespace {

constexpr int tries = 64;

// Writes the value of the other number plus one.
__global__ void add_one(int* out, const int* in) {
  *out = *in + 1;
}

// One stream writes a number, another one reads it. Returns how often the right value was read.
int pass_on(bool with_wait) {
  TestStream writer, reader;
  TestEvent written;
  DeviceInt number, read;
  int right = 0;
  for (int i = 0; i < tries; ++i) {
    launch(set_number, 1, 1, writer.get(), number.get(), i);
    check_cuda(cudaEventRecord(written.get(), writer.get()), "cudaEventRecord");
    if (with_wait) check_cuda(cudaStreamWaitEvent(reader.get(), written.get()), "wait");
    launch(add_one, 1, 1, reader.get(), read.get(), number.get());
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    right += read.value() == i + 1;
  }
  return right;
}

TEST(EmulationStreams, AForgottenEventWaitShows) {
  EXPECT_EQ(pass_on(true), tries);
  EXPECT_LT(pass_on(false), tries * 3 / 4);
}

// The writer is 30 pieces of work ahead, and the reader does not wait for it.
TEST(EmulationStreams, AForgottenWaitShowsFarOff) {
  TestStream writer, reader;
  DeviceInt number, other, read;
  int right = 0;
  for (int i = 0; i < tries; ++i) {
    launch(set_number, 1, 1, writer.get(), number.get(), i);
    for (int k = 0; k < 30; ++k) launch(set_number, 1, 1, reader.get(), other.get(), k);
    launch(add_one, 1, 1, reader.get(), read.get(), number.get());
    check_cuda(cudaStreamSynchronize(reader.get()), "cudaStreamSynchronize");
    right += read.value() == i + 1;
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  EXPECT_LT(right, tries);
}

TEST(EmulationStreams, NothingRunsBeforeAWait) {
  TestStream stream;
  int value = 0;
  launch(set_number, 1, 1, stream.get(), &value, 1);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(value, 1);
}

__global__ void set_later(int* number) {
  *number = 2;
}

// As a driver may do: a thread that waits for work of another device in vain would wait for ever.
TEST(EmulationStreams, TheFirstLaunchOfAKernelWaitsForItsDevice) {
  emulation::set_load_lock(false);  // nothing is loaded
  TestStream stream;
  DeviceInt number;
  for (int expected : {1, 0}) {  // in the second round it is loaded
    int value = 0;
    launch(set_number, 1, 1, stream.get(), &value, 1);
    launch(set_later, 1, 1, stream.get(), number.get());
    EXPECT_EQ(value, expected);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }
}

TEST(EmulationStreams, QueriesMakeProgress) {
  TestStream stream;
  TestEvent event;
  int value = 0, queries = 0;
  for (int i = 1; i <= 5; ++i) launch(set_number, 1, 1, stream.get(), &value, i);
  ASSERT_EQ(cudaEventRecord(event.get(), stream.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  while (cudaEventQuery(event.get()) == cudaErrorNotReady) ++queries;
  EXPECT_LE(queries, 5);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
}

TEST(EmulationStreams, AWaitIsForTheLatestRecord) {
  TestStream first, second;
  TestEvent event;
  int before = 0, after = 0;
  ASSERT_EQ(cudaStreamWaitEvent(second.get(), event.get()), cudaSuccess);  // never recorded
  launch(set_number, 1, 1, first.get(), &before, 1);
  ASSERT_EQ(cudaEventRecord(event.get(), first.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second.get(), event.get()), cudaSuccess);
  launch(set_number, 1, 1, first.get(), &after, 1);
  ASSERT_EQ(cudaEventRecord(event.get(), second.get()), cudaSuccess);  // the event moves on
  EXPECT_EQ(cudaEventSynchronize(event.get()), cudaSuccess);
  EXPECT_EQ(before, 1);
  ASSERT_EQ(cudaStreamSynchronize(first.get()), cudaSuccess);
  EXPECT_EQ(after, 1);
}

// Legacy default stream: blocking streams and the null stream are in order, others are not.
TEST(EmulationStreams, TheNullStreamOrdersBlockingStreams) {
  int right = 0;
  for (unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    TestStream stream(flags);
    DeviceInt number, read;
    right = 0;
    for (int i = 0; i < tries; ++i) {
      launch(set_number, 1, 1, stream.get(), number.get(), i);
      launch(add_one, 1, 1, nullptr, read.get(), number.get());
      launch(set_number, 1, 1, stream.get(), number.get(), -1);
      check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      right += read.value() == i + 1;
    }
    if (flags == cudaStreamDefault) {
      EXPECT_EQ(right, tries);
    }
  }
  EXPECT_LT(right, tries);
}

TEST(EmulationStreams, HostFunctionsRunInOrderAndCallNothing) {
  struct Seen {
    int value = 0, at_call = 0;
    cudaError_t from_inside = cudaSuccess;
  } seen;
  TestStream stream;
  launch(set_number, 1, 1, stream.get(), &seen.value, 3);
  auto look = [](void* data) {
    auto* s = static_cast<Seen*>(data);
    s->at_call = s->value;
    s->from_inside = cudaDeviceSynchronize();
  };
  ASSERT_EQ(cudaLaunchHostFunc(stream.get(), look, &seen), cudaSuccess);
  launch(set_number, 1, 1, stream.get(), &seen.value, 4);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(seen.at_call, 3);
  EXPECT_EQ(seen.from_inside, cudaErrorNotPermitted);
}

TEST(EmulationStreams, AStreamBelongsToADevice) {
  TestStream stream;
  TestEvent event;
  int value = 0, count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_THROW(launch(set_number, 1, 1, stream.get(), &value, 1), Error);
  TestStream here;
  EXPECT_EQ(cudaEventRecord(event.get(), here.get()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event.get(), stream.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(here.get(), event.get()), cudaSuccess);
  launch(set_number, 1, 1, here.get(), &value, 2);
  EXPECT_EQ(cudaStreamSynchronize(here.get()), cudaSuccess);
  EXPECT_EQ(value, 2);
  cudaSetDevice(0);
}

TEST(EmulationStreams, AKernelsErrorIsThrownByTheNextWait) {
  TestStream stream, other;
  launch(wait_for_one_that_left, 1, 64, stream.get());
  EXPECT_THROW(cudaStreamSynchronize(stream.get()), Error);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  launch(wait_for_one_that_left, 1, 64, stream.get());
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // another device's affair
  cudaSetDevice(0);
  EXPECT_THROW(cudaDeviceSynchronize(), Error);
}

TEST(EmulationStreams, DestroyingAStreamFinishesItsWork) {
  int value = 0;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  launch(set_number, 1, 1, stream, &value, 1);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST(EmulationStreams, TimesBetweenEvents) {
  TestStream stream;
  TestEvent first(cudaEventDefault), last(cudaEventDefault), untimed;
  float milliseconds = -1;
  ASSERT_EQ(cudaEventRecord(first.get(), stream.get()), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(last.get(), stream.get()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first.get(), last.get()), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(last.get()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first.get(), last.get()), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first.get(), untimed.get()),
            cudaErrorInvalidResourceHandle);
}

// Two threads, with a device each, pass a number to and fro.
TEST(EmulationStreams, ThreadsHandOverByEvents) {
  DeviceInt number;
  number.set(0);
  TestEvent done[2] = {TestEvent(cudaEventDisableTiming, 0), TestEvent(cudaEventDisableTiming, 1)};
  std::atomic<int> turn = 0;
  auto play = [&](int self) {
    check_cuda(cudaSetDevice(self), "cudaSetDevice");
    TestStream stream;
    for (int round = 0; round < 50; ++round) {
      while (turn != 2 * round + self) std::this_thread::yield();
      check_cuda(cudaStreamWaitEvent(stream.get(), done[1 - self].get()), "wait");
      launch(add_one, 1, 1, stream.get(), number.get(), number.get());
      check_cuda(cudaEventRecord(done[self].get(), stream.get()), "cudaEventRecord");
      ++turn;
      if (round % 5 == self) check_cuda(cudaStreamSynchronize(stream.get()), "synchronise");
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  cudaSetDevice(0);
  EXPECT_EQ(number.value(), 100);
}

}  // namespace
}  // namespace spire
