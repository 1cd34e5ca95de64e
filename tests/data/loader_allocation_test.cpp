// No memory is allocated between start() and the last batch, by any thread. This program counts
// every allocation of its own and of the library.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "engine/data/images/degrade.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/loader.h"

namespace {

std::atomic<int64_t> allocations{0};

void* counted(size_t bytes, size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new[](size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace spire {
namespace {

LabelledImages images(int64_t count) {
  LabelledImages dataset;
  dataset.count = count, dataset.classes = 3;
  dataset.height = dataset.width = 12, dataset.channels = 1;
  dataset.pixels.resize(static_cast<size_t>(count * 144), 5);
  dataset.labels.resize(static_cast<size_t>(count), 2);
  return dataset;
}

TEST(Allocations, AreCounted) {
  int64_t before = allocations;
  EXPECT_EQ(images(2).count, 2);
  EXPECT_GE(allocations, before + 2);  // pixels and labels
}

// All augmentations that change pixels.
AugmentConfig every_change() {
  AugmentConfig augment = {2, true};
  augment.color_jitter = {.brightness = 0.1, .contrast = 0.1};
  augment.affine = {.rotate = 10, .translate = 0.1, .scale = 0.1, .shear = 5};
  augment.rand_augment = {.count = 2};
  augment.erase = {.probability = 0.5};
  return augment;
}

void expect_no_allocation(const Dataset& dataset) {
  for (int64_t workers : {0, 1, 3}) {
    LoaderOptions options;
    options.batch_size = 4;
    options.towers = 2;
    options.workers = workers;
    BatchLoader loader(dataset, options);
    loader.start(0, 0, 30);
    int64_t before = allocations;
    int64_t samples = 0;
    while (!loader.finished()) samples += loader.next().valid;
    EXPECT_EQ(allocations, before) << workers << " workers";
    EXPECT_EQ(samples, 30 * 103);
  }
}

TEST(Allocations, BatchesNeedNone) {
  expect_no_allocation(ImageDataset(images(103), {{0.1}, {0.2}}, every_change(), {}));
}

TEST(Allocations, DegradedImagesNeedNone) {
  using Kind = DegradeConfig::Kind;
  for (Kind kind : {Kind::noise, Kind::downscale}) {
    auto half = [] {
      return std::make_unique<ImageDataset>(images(103), Normalization{{0.1}, {0.2}},
                                            AugmentConfig{}, ReadOptions{});
    };
    expect_no_allocation(*degraded({half(), half()}, {.kind = kind}, 1, 4).train);
  }
}

}  // namespace
}  // namespace spire
