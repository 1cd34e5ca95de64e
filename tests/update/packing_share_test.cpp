// Tests that lanes divide the packing of weights so that each unit is packed once, and early only
// by the lane that has updated all weights that it reads.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/device/memory_pool.h"
#include "engine/graph/graph.h"
#include "engine/train/cpu_pass.h"

namespace spire {
namespace {

// Forms of parameters of 1000 floats, which count how often each of their units is packed.
struct Forms {
  using Counts = std::vector<std::vector<int>>;  // per form and unit
  Counts packed;
  std::vector<float> plain = std::vector<float>(4032);
  MemoryPool memory{DeviceId{}};
  PackedWeights weights;

  void add(int64_t offset, int64_t units, int64_t unit_floats, bool frozen = false,
           bool step = true) {
    size_t form = packed.size();
    packed.emplace_back(static_cast<size_t>(units));
    auto pack = [this, form](const float*, void*, int64_t first, int64_t last, void*) {
      for (int64_t u = first; u < last; ++u) ++packed[form][static_cast<size_t>(u)];
    };
    weights.add({.name = "", .shape = {1000}, .offset = offset, .frozen = frozen, .initialize = {}},
                {0, "form", 64, units, pack, unit_floats}, step);
  }
};

// Parameters from 0, 1008 and 2016 on: 4 units of 250 floats, 3 of 400 with a short last one, and 2
// units that read all of their parameter.
struct ThreeForms : Forms {
  ThreeForms() {
    add(0, 4, 250);
    add(1008, 3, 400);
    add(2016, 2, 0);
    weights.allocate(memory);
  }
};

// Steps and evaluations leave what is frozen alone: it is packed once, by parts that share it.
TEST(PackedWeights, PacksFrozenFormsOnlyWhenAsked) {
  Forms forms;
  for (bool frozen : {false, true}) {
    forms.add(frozen ? 2016 : 0, 2, 500, frozen, true);
    forms.add(frozen ? 3024 : 1008, 2, 500, frozen, false);
  }
  PackedWeights& weights = forms.weights;
  weights.allocate(forms.memory);
  const float* plain = forms.plain.data();
  auto stream = make_stream({});
  for (int part : {0, 1, 2}) weights.pack_for_step(plain, part, 3, *stream);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1}, {0, 0}, {0, 0}, {0, 0}}));
  for (int part : {0, 1, 2}) weights.pack_for_evaluation(plain, part, 3, *stream);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1}, {1, 1}, {0, 0}, {0, 0}}));
  for (int part : {0, 1, 2}) weights.pack_frozen(plain, part, 3, *stream);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1}, {1, 1}, {1, 1}, {1, 1}}));
  for (const PackedWeights::Unit& unit : weights.step_units()) EXPECT_EQ(unit.form, 0u);
}

TEST(PackingShare, PacksEarlyWhatOneLaneHasUpdated) {
  ThreeForms forms;
  auto stream = make_stream({});
  auto shares = PackingShare::divide(forms.weights, {{0, 1500}, {1500, 3024}});
  for (PackingShare& share : shares) share.begin();
  auto pack = [&](size_t lane, int64_t at) {
    shares[lane].pack_before(at, forms.weights, forms.plain.data(), *stream);
  };
  pack(0, 499);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 0, 0, 0}, {0, 0, 0}, {0, 0}}));
  pack(0, 1408);  // the unit from 1408 to 1808 is of both lanes
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1, 1, 1}, {1, 0, 0}, {0, 0}}));
  pack(1, 3015);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1, 1, 1}, {1, 0, 1}, {0, 0}}));
  pack(1, 3024);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1, 1, 1}, {1, 0, 1}, {1, 1}}));
  for (PackingShare& share : shares) share.pack_shared(forms.weights, forms.plain.data(), *stream);
  EXPECT_EQ(forms.packed, (Forms::Counts{{1, 1, 1, 1}, {1, 1, 1}, {1, 1}}));
}

TEST(PackingShare, EachUnitIsPackedOnceEachStepOnAnyLanes) {
  for (int lanes : {1, 2, 3, 7}) {
    ThreeForms forms;
    auto stream = make_stream({});
    std::vector<FloatRange> updated;
    for (int l = 0; l < lanes; ++l) updated.push_back({3024 * l / lanes, 3024 * (l + 1) / lanes});
    auto shares = PackingShare::divide(forms.weights, updated);
    for (int step = 1; step <= 2; ++step) {
      for (size_t l = 0; l < shares.size(); ++l) {
        shares[l].begin();
        shares[l].pack_before(updated[l].end, forms.weights, forms.plain.data(), *stream);
      }
      for (PackingShare& share : shares)
        share.pack_shared(forms.weights, forms.plain.data(), *stream);
      EXPECT_EQ(forms.packed, (Forms::Counts{std::vector<int>(4, step), std::vector<int>(3, step),
                                             std::vector<int>(2, step)}))
          << lanes << " lanes";
    }
  }
}

}  // namespace
}  // namespace spire
