// Tests a device's update of its weights against the published rules in float64, and that the bits
// do not depend on how weights are divided among devices.
#include <algorithm>
#include <cmath>
#include <optional>

#include <spire/layers.h>
#include <spire/random_stream.h>

#include "engine/update/cpu_update.h"
#include "engine/update/ownership.h"
#include "engine/update/tree.h"
#include "tests/device/every_device.h"
#include "tests/update/update_reference.h"

namespace spire {
namespace {

using Floats = std::vector<float>;

struct UpdateCase {
  std::string name;
  OptimizerConfig optimizer;
  EmaConfig ema = {};
};

OptimizerConfig with_all(OptimizerConfig optimizer) {
  optimizer.weight_decay = 0.1;
  optimizer.clip_norm = 1;
  optimizer.decay = OptimizerConfig::Decay::matrices;
  optimizer.lr_factors = {{"wide.*", 0.3}, {"*.bias", 1.7}};
  return optimizer;
}

// The epsilon is so large that a gradient near zero, which is mostly rounding, moves nothing. Each
// optimizer alone, and with all that may go along: clipping, averages, weights without decay,
// factors of the learning rate.
std::vector<UpdateCase> update_cases() {
  OptimizerConfig plain{.name = OptimizerConfig::Name::sgd, .momentum = 0};
  OptimizerConfig momentum{.name = OptimizerConfig::Name::sgd, .momentum = 0.9};
  OptimizerConfig nesterov{.name = OptimizerConfig::Name::sgd, .momentum = 0.9, .nesterov = true};
  OptimizerConfig adam{.name = OptimizerConfig::Name::adam, .epsilon = 1e-3};
  OptimizerConfig adamw{.name = OptimizerConfig::Name::adamw, .weight_decay = 0.1, .epsilon = 1e-3};
  OptimizerConfig lars{
      .name = OptimizerConfig::Name::lars, .weight_decay = 0.1, .trust_coefficient = 0.5};
  OptimizerConfig lamb{.name = OptimizerConfig::Name::lamb, .weight_decay = 0.1, .epsilon = 1e-3};
  EmaConfig average{.decay = 0.9}, warmup{.decay = 0.99, .warmup = true};
  return {{"sgd", plain},         {"sgd, all", with_all(plain), average},
          {"momentum", momentum}, {"momentum, all", with_all(momentum), warmup},
          {"nesterov", nesterov}, {"nesterov, all", with_all(nesterov), average},
          {"adam", adam},         {"adam, all", with_all(adam), warmup},
          {"adamw", adamw},       {"adamw, all", with_all(adamw), average},
          {"lars", lars},         {"lars, all", with_all(lars), warmup},
          {"lamb", lamb},         {"lamb, all", with_all(lamb), average}};
}

// 33 000 weights: matrices over several chunks and within one, vectors, running statistics; no
// sizes are multiples of packs.
ParameterLayout small_layout() {
  Graph graph(true);
  Value x = graph.input("x", {{4, 301}, DType::f32});
  Value labels = graph.input("labels", {{4}, DType::i32});
  Value hidden = relu(graph, batch_norm(graph, "norm", dense(graph, "wide", x, 97)));
  hidden = relu(graph, dense(graph, "middle", hidden, 37));
  cross_entropy_loss(graph, dense(graph, "last", hidden, 5), labels, 0.0f);
  return ParameterLayout(graph, differentiate(graph));
}

// Random values for a flat buffer, zero between the entries.
Floats values_of(const ParameterLayout& layout, uint64_t seed) {
  RandomStream random(seed, Purpose::initialize);
  Floats values(static_cast<size_t>(layout.total_floats()));
  for (const ParameterEntry& entry : layout.entries()) {
    for (int64_t i = entry.offset; i < entry.offset + entry.elements(); ++i)
      values[static_cast<size_t>(i)] = random.uniform(static_cast<uint64_t>(i)) - 0.5f;
  }
  return values;
}

std::vector<double> squares_of(const ParameterLayout& layout, const Floats& sums) {
  std::vector<double> squares;
  for (int64_t i = 0; i < layout.trained_floats(); ++i) {
    if (i % TreeSum::chunk == 0) squares.push_back(0);
    double value = sums[static_cast<size_t>(i)];
    squares.back() += value * value;
  }
  return squares;
}

struct State {
  Floats weights;
  std::vector<Floats> slots;
  bool operator==(const State&) const = default;
};

// Weights in a device's memory with their updates: those of `shares` devices that own shards.
class Updates {
 public:
  Updates(const UpdateCase& c, const ParameterLayout& layout, DeviceId device, int shares = 1)
      : layout_(layout),
        stream_(make_stream(device)),
        memory_(device),
        weights_(device, values_of(layout, 1)),
        sums_(device, values_of(layout, 0)),
        squares_(device, squares_of(layout, values_of(layout, 0))),
        slots_(slot_count(c.optimizer, c.ema)) {
    config_.optimizer = c.optimizer;
    config_.ema = c.ema;
    ParameterUpdate::Options options;
    options.spans = weight_spans(c.optimizer, layout);
    if (is_layerwise(c.optimizer)) {
      options.norms = &norms_.emplace(options.spans);
      norms_->allocate(memory_);
    }
    options.config = &config_;
    options.memory = &memory_;
    options.weights = weights_.data();
    options.sums = sums_.data();
    options.squares = {squares_.data(), squares_of(layout, values_of(layout, 0)).size()};
    for (int share = 0; share < shares; ++share) {
      options.owned = shards(share, shares);
      planned_ += update_bytes(options, layout);
      if (device.kind == DeviceKind::cuda)
        list_.push_back(make_cuda_update(options, layout));
      else
        list_.push_back(std::make_unique<CpuUpdate>(options, layout));
      list_.back()->begin_average();
    }
  }

  // Gradients of step 1, 2, ... are drawn anew.
  static Floats sums_at(const ParameterLayout& layout, int step) {
    return values_of(layout, 100 + static_cast<uint64_t>(step));
  }
  static float lr_at(int step) { return 0.01f * static_cast<float>(step); }

  void run(int step) {
    Floats sums = sums_at(layout_, step);
    sums_.set(sums);
    squares_.set(squares_of(layout_, sums));
    ParameterUpdate::Step at{.lr = lr_at(step), .number = step};
    if (!on_gpu()) return run_chunks(sums, at);
    for (auto& update : list_) static_cast<GpuUpdate&>(*update).measure(at, *stream_);
    for (auto& update : list_) static_cast<GpuUpdate&>(*update).update(at, *stream_);
    stream_->synchronize();
  }
  void swap_averages() {
    for (auto& update : list_) {
      if (on_gpu())
        static_cast<GpuUpdate&>(*update).swap_average(*stream_);
      else
        for (FloatRange chunk : chunks()) static_cast<CpuUpdate&>(*update).swap_average(chunk);
    }
    stream_->synchronize();
  }
  static constexpr FloatRange everything = {0, std::numeric_limits<int64_t>::max()};

  State state() const {
    State state{weights_.values(), {}};
    for (size_t slot = 0; slot < slots_; ++slot) {
      state.slots.emplace_back(static_cast<size_t>(layout_.trained_floats()));
      for (const auto& update : list_)
        update->copy_state_out(slot, everything, state.slots[slot].data());
    }
    return state;
  }
  void restore(const State& state) {
    weights_.set(state.weights);
    for (size_t slot = 0; slot < slots_; ++slot)
      for (auto& update : list_) update->copy_state_in(slot, everything, state.slots[slot].data());
  }
  // Bytes that the updates announced, and those that they allocated.
  size_t planned_bytes() const { return planned_ + (norms_ ? norms_->bytes() : 0); }
  MemoryUse memory() const { return memory_.in_use(); }
  size_t state_bytes() const {
    size_t bytes = 0;
    for (const auto& update : list_) bytes += update->state_bytes();
    return bytes;
  }

 private:
  bool on_gpu() const { return stream_->device().kind == DeviceKind::cuda; }

  // The last one first: their order does not matter.
  std::vector<FloatRange> chunks() const {
    std::vector<FloatRange> chunks;
    for_chunks({0, layout_.total_floats()}, [&](FloatRange chunk) { chunks.push_back(chunk); });
    std::ranges::reverse(chunks);
    return chunks;
  }

  // From sums that lie elsewhere than all others.
  void run_chunks(const Floats& sums, const ParameterUpdate::Step& order) {
    auto sums_of = [&](FloatRange c) {
      return Floats(sums.begin() + c.begin, sums.begin() + c.end);
    };
    for (auto& update : list_) {
      auto& cpu = static_cast<CpuUpdate&>(*update);
      const CpuUpdate::ChunkStep step = cpu.chunk_step(order);
      for (FloatRange chunk : chunks()) cpu.measure(chunk, sums_of(chunk).data(), step);
    }
    for (auto& update : list_) {
      auto& cpu = static_cast<CpuUpdate&>(*update);
      CpuUpdate::ChunkStep step = cpu.chunk_step(order);
      for (FloatRange chunk : chunks()) cpu.update(chunk, sums_of(chunk).data(), step);
    }
  }

  std::vector<FloatRange> shards(int share, int shares) const {
    std::vector<FloatRange> shards;
    for (FloatRange bucket : make_buckets(layout_.total_floats(), 8192, 16384)) {
      FloatRange shard = share_of(bucket, share, share + 1, shares);
      if (shard.size() > 0) shards.push_back(shard);
    }
    return shards;
  }

  RunConfig config_;
  const ParameterLayout& layout_;
  std::unique_ptr<Stream> stream_;
  MemoryPool memory_;
  size_t planned_ = 0;
  OnDevice<float> weights_, sums_;
  OnDevice<double> squares_;
  size_t slots_;
  std::optional<TensorNorms> norms_;
  std::vector<std::unique_ptr<ParameterUpdate>> list_;
};

class ParameterUpdateTest : public EveryDevice {
 protected:
  const ParameterLayout layout_ = small_layout();
};

void expect_near(const Floats& values, const std::vector<double>& expected, double tolerance) {
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "float " << i;
}

TEST_P(ParameterUpdateTest, FollowsTheFloat64Reference) {
  for (const UpdateCase& c : update_cases()) {
    SCOPED_TRACE(c.name);
    Updates updates(c, layout_, GetParam());
    UpdateReference reference(c.optimizer, c.ema, layout_, values_of(layout_, 1));
    for (int step = 1; step <= 4; ++step) {
      SCOPED_TRACE(step);
      updates.run(step);
      reference.step(Updates::sums_at(layout_, step), Updates::lr_at(step));
      State state = updates.state();
      expect_near(state.weights, reference.weights(), 2e-6 * step);
      if (c.ema.decay > 0) expect_near(state.slots.back(), reference.average(), 2e-6 * step);
    }
  }
}

TEST_P(ParameterUpdateTest, AllocatesWhatItAnnounced) {
  for (const UpdateCase& c : update_cases()) {
    SCOPED_TRACE(c.name);
    for (int shares : {1, 3}) {
      Updates updates(c, layout_, GetParam(), shares);
      EXPECT_EQ(updates.memory(), (MemoryUse{{MemoryKind::optimizer, updates.planned_bytes()}}));
      EXPECT_GE(updates.planned_bytes(), updates.state_bytes());
    }
  }
}

TEST_P(ParameterUpdateTest, ShardsGiveTheSameBitsAsTheWhole) {
  for (const UpdateCase& c : update_cases()) {
    SCOPED_TRACE(c.name);
    Updates whole(c, layout_, GetParam());
    for (int step = 1; step <= 2; ++step) whole.run(step);
    for (int shares : {2, 3}) {
      Updates shared(c, layout_, GetParam(), shares);
      for (int step = 1; step <= 2; ++step) shared.run(step);
      EXPECT_TRUE(shared.state() == whole.state()) << shares;
      EXPECT_EQ(shared.state_bytes(), whole.state_bytes());
    }
  }
}

TEST_P(ParameterUpdateTest, ASecondExchangeOfAveragesRestoresTheBits) {
  for (int shares : {1, 3}) {
    Updates updates({"", {.name = OptimizerConfig::Name::adam}, {.decay = 0.9}}, layout_,
                    GetParam(), shares);
    Floats begin = values_of(layout_, 1);
    begin.resize(static_cast<size_t>(layout_.trained_floats()));
    EXPECT_EQ(updates.state().slots.back(), begin);
    updates.run(1);
    State before = updates.state();
    updates.swap_averages();
    State swapped = updates.state();
    for (size_t i = 0; i < begin.size(); ++i) {
      ASSERT_EQ(swapped.weights[i], before.slots.back()[i]);
      ASSERT_EQ(swapped.slots.back()[i], before.weights[i]);
    }
    for (size_t i = begin.size(); i < before.weights.size(); ++i)  // running statistics
      ASSERT_EQ(swapped.weights[i], before.weights[i]);
    updates.swap_averages();
    EXPECT_TRUE(updates.state() == before);
  }
}

// Also where the weights are divided among another number of devices.
TEST_P(ParameterUpdateTest, ContinuesFromACopiedState) {
  for (const UpdateCase& c : update_cases()) {
    Updates first(c, layout_, GetParam()), second(c, layout_, GetParam(), 3);
    first.run(1);
    second.restore(first.state());
    first.run(2);
    second.run(2);
    EXPECT_TRUE(first.state() == second.state()) << c.name;
  }
}

// Clipping has an effect: without it the same step goes further.
TEST_P(ParameterUpdateTest, ClippingBoundsTheStep) {
  OptimizerConfig optimizer{.name = OptimizerConfig::Name::sgd, .momentum = 0, .clip_norm = 0.25};
  Updates updates({"", optimizer}, layout_, GetParam());
  updates.run(1);
  Floats before = values_of(layout_, 1), after = updates.state().weights;
  double squares = 0;
  for (size_t i = 0; i < static_cast<size_t>(layout_.trained_floats()); ++i)
    squares += std::pow(double{after[i]} - before[i], 2);
  EXPECT_NEAR(std::sqrt(squares), Updates::lr_at(1) * 0.25, 1e-5);
}

SPIRE_TEST_ON_EVERY_DEVICE(ParameterUpdateTest);

}  // namespace
}  // namespace spire
