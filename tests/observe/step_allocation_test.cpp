// Publishing a step allocates nothing on the thread that trains: every operator new of this program
// is counted, by thread.
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "engine/observe/http/http_server.h"
#include "tests/observe/reports.h"

namespace {

thread_local long allocations = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace spire {
namespace {

TEST(PublishedSteps, AllocateNothing) {
  auto ignore = [](std::string_view) {};
  RunServer server({.port = 0}, {.page = true, .metrics = true}, ignore, ignore);
  std::vector<DeviceReport> devices = gpu_reports();
  devices[1].throttle_reasons = {"hardware slowdown"};
  report_run(server, devices);
  StepReport step = sample_step();
  step.devices = devices;
  long before = allocations;
  EXPECT_GT(before, 0);
  for (int64_t number = 1; number <= 5000; ++number) {
    step.step = number;
    server.on_step(step);
  }
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace spire
