#include "kernels/window.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <spire/packing.h>

#include "kernels/kernel.h"
#include "kernels/ops/conv2d/conv2d.h"

namespace spire::testing {
namespace {

// All axes that pooling allows, up to 9 pixels.
template <typename Body>
void every_axis(const Body& body) {
  for (int64_t in = 1; in <= 9; ++in) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t stride = 1; stride <= 5; ++stride) {
        for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
          if (in + 2 * padding < kernel) continue;
          int64_t out = (in + 2 * padding - kernel) / stride + 1;
          SCOPED_TRACE(
              fmt::format("in {} kernel {} stride {} padding {}", in, kernel, stride, padding));
          body(WindowAxis{kernel, stride, padding, in, out});
        }
      }
    }
  }
}

bool contains(IndexRange range, int64_t i) {
  return range.begin <= i && i < range.end;
}

// A window has a pixel if and only if the pixel has the window, and if a tap of it is there.
TEST(WindowAxis, PixelsAndPositionsAreOneRelation) {
  every_axis([](const WindowAxis& axis) {
    for (int64_t i = 0; i < axis.out; ++i) {
      EXPECT_GT(axis.pixels(i).size(), 0);
      for (int64_t p = 0; p < axis.in; ++p) {
        int64_t tap = p + axis.padding - i * axis.stride;
        bool under = tap >= 0 && tap < axis.kernel;
        EXPECT_EQ(contains(axis.pixels(i), p), under);
        EXPECT_EQ(contains(axis.positions(p), i), under);
      }
    }
  });
}

// Territories divide the input into consecutive parts; without overlap each contains its window.
TEST(WindowAxis, TerritoriesCoverEveryPixelOnce) {
  every_axis([](const WindowAxis& axis) {
    if (axis.overlap()) return;
    int64_t next = 0;
    for (int64_t i = 0; i < axis.out; ++i) {
      IndexRange territory = axis.territory(i), pixels = axis.pixels(i);
      EXPECT_EQ(territory.begin, next);
      EXPECT_LE(territory.begin, pixels.begin);
      EXPECT_GE(territory.end, pixels.end);
      next = territory.end;
    }
    EXPECT_EQ(next, axis.in);
  });
}

// A kernel sets the OpenMP team of the calling thread for itself and restores it.
TEST(KernelTeam, IsRestoredAfterPrepareAndRun) {
  std::vector<TensorSpec> inputs{{{1, 4, 4, 2}, DType::f32}, {{3, 2, 1, 1}, DType::f32}};
  Conv2dOp op;
  auto outputs = op.infer(inputs);
  int before = omp_get_max_threads();
  omp_set_num_threads(3);
  auto kernel = make_kernel(
      op, {.inputs = inputs, .outputs = outputs, .device = {DeviceKind::cpu, 0}, .threads = 1});
  EXPECT_EQ(omp_get_max_threads(), 3);
  std::vector<float> x(32, 1.0f), w(6, 0.5f), packed(1024), y(48), workspace(65536);
  for (const Packing& packing : kernel.packings()) {
    ASSERT_LE(packing.bytes, packed.size() * sizeof(float));
    packing.pack(w.data(), packed.data());
  }
  const void* in[] = {x.data(), kernel.packings().empty() ? w.data() : packed.data()};
  void* out[] = {y.data()};
  ASSERT_LE(kernel.workspace_bytes(), workspace.size() * sizeof(float));
  kernel.run({.inputs = in, .outputs = out, .workspace = workspace.data()});
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(y, std::vector<float>(48, 1.0f));
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace spire::testing
