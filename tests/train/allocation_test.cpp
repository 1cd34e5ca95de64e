// A step allocates nothing: every operator new of this program is counted, whichever thread calls
// it, apart from those that libdnnl makes for itself inside an execute call (its argument maps).
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/train/small_run.h"

namespace {
std::atomic<long> allocations{0};
std::atomic<bool> counting{false};

bool is_ours(const void* caller) {
  Dl_info library;
  bool known = dladdr(caller, &library) != 0 && library.dli_fname;
  return !known || !std::strstr(library.dli_fname, "libdnnl");
}

// null when there is no memory
void* counted(std::size_t bytes, const void* caller) {
  if (counting.load(std::memory_order_relaxed) && is_ours(caller)) allocations.fetch_add(1);
  return std::malloc(bytes);
}

void* counted_or_throw(std::size_t bytes, const void* caller) {
  if (void* memory = counted(bytes, caller)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) {
  return counted_or_throw(bytes, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return counted_or_throw(bytes, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace spire {
namespace {

long allocations_in_steps(const SmallRun& run) {
  TowerTrainer trainer(run.options(), run.place());
  for_batches(trainer, run, run.dataset(), 0, 40, [&](const Batch& batch, int64_t step) {
    if (step == 10) allocations = 0;
    counting = step >= 10;
    trainer.step(batch, step, 0.01);
    if (step == 39) counting = false;
  });
  return allocations;
}

TEST(Allocation, TheCounterCounts) {
  counting = true;
  ::operator delete(::operator new(1));  // a call that no compiler leaves out
  counting = false;
  EXPECT_GE(allocations.load(), 1);
}

TEST(Allocation, NoneInAStep) {
  for (const char* model : {"mlp", "cnn", "resnet"}) {
    for (DType precision : {DType::f32, DType::bf16}) {
      SmallRun run;
      run.model = {.name = model, .hidden = {}, .channels = {}, .depth = 8, .dropout = 0.3};
      run.precision = precision;
      run.devices = {"cpu:0", "cpu:1"};
      EXPECT_EQ(allocations_in_steps(run), 0) << model << " " << to_string(precision);
    }
  }
}

TEST(Allocation, NoneForRatiosOfLayersAndAverages) {
  SmallRun run;
  run.optimizer = {.name = OptimizerConfig::Name::lamb,
                   .lr = 0.01,
                   .decay = OptimizerConfig::Decay::matrices,
                   .clip_norm = 1};
  run.ema = {.decay = 0.9};
  run.devices = {"cpu:0", "cpu:1"};
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    run.strategy = strategy;
    EXPECT_EQ(allocations_in_steps(run), 0) << strategy;
  }
}

}  // namespace
}  // namespace spire
