// The trainer's state out of and into checkpoints.
#include <algorithm>
#include <cstring>

#include <spire/base/hash.h>
#include <spire/train/state_tensors.h>
#include <spire/train/trainer.h>

namespace spire {
namespace {

// Null for an average that the checkpoint's run did not make.
const std::vector<NamedTensor>* slot_of(const TrainingState& state, const std::string& name) {
  const auto* slot = find_slot(state, name);
  if (!slot && name != average_slot) {
    fail(Category::checkpoint,
         "the checkpoint has no optimizer state '{}'; use the optimizer of its run, or start a new "
         "run",
         name);
  }
  return slot;
}

// The first that differs from most others; from the first of two. size() when all are equal.
size_t odd_one_out(const std::vector<uint64_t>& values) {
  auto count = [&](uint64_t value) { return std::count(values.begin(), values.end(), value); };
  uint64_t common = values[0];
  for (uint64_t value : values) {
    if (count(value) > count(common)) common = value;
  }
  auto odd = std::find_if(values.begin(), values.end(), [&](uint64_t v) { return v != common; });
  return static_cast<size_t>(odd - values.begin());
}

}  // namespace

// This rank's numbers, one a device, become all ranks', in device order.
std::vector<uint64_t> Trainer::gather_hashes(const std::vector<uint64_t>& mine) {
  if (ranks() == 1) return mine;
  std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(uint64_t));
  std::vector<uint64_t> all;
  std::vector<std::string> parts;
  board_.wait(0, [&] { parts = all_gather(*group_, bytes); });
  for (const std::string& part : parts) {
    size_t begin = all.size();
    all.resize(begin + part.size() / sizeof(uint64_t));
    std::memcpy(all.data() + begin, part.data(), part.size());
  }
  return all;
}

void Trainer::broadcast(float* values) {
  board_.wait(0, [&] { state_slices_->broadcast(values, *host_stream_); });
}

// One slot's optimizer state, collected from the devices that own it; whole on rank 0.
float* Trainer::gather_state(size_t slot) {
  auto bytes = static_cast<size_t>(layout_.total_floats()) * sizeof(float);
  if (state_.bytes() != bytes) state_ = Buffer(bytes);
  for (auto& update : updates_) {
    if (update) update->copy_state_out(slot, state_.as<float>());
  }
  if (placement_.strategy == Strategy::sharded)
    board_.wait(0, [&] { state_slices_->gather(state_.as<float>(), *host_stream_); });
  return state_.as<float>();
}

std::vector<std::string> Trainer::slots() const {
  auto names = optimizer_->slots();
  if (ema_.on()) names.emplace_back(average_slot);
  return names;
}

void Trainer::snapshot(TrainingState& state) {
  require(!averaged_ && under_way() == 0, "a snapshot before the end of a step or evaluation");
  auto names = slots();
  bool writes = placement_.rank == 0;
  if (writes) {
    copy_out(layout_, weights(), true, state.weights);
    copy_out(layout_, weights(), false, state.states);
    state.optimizer.resize(names.size());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const float* flat = gather_state(i);
    if (!writes) continue;
    state.optimizer[i].first = names[i];
    copy_out(layout_, flat, true, state.optimizer[i].second);
  }
  state.towers = placement_.towers;
  state.batch_size = placement_.batch_size;
  state.tower_threads = placement_.tower_threads;
  const LossScaleState& scale = loss_scale_.state();
  state.loss_scale = scale.scale;
  state.loss_scale_steps = scale.good_steps;
  state.skipped_steps = scale.skipped;
  state.skipped_in_row = scale.skipped_in_row;
  state.parameter_hash = hex(parameter_hash());
}

void Trainer::restore(const TrainingState& state) {
  bool reads = placement_.rank == 0;
  auto names = slots();
  float* values = front().read(host_weights_);
  if (reads) {
    copy_in(layout_, state.weights, "weight", true, values);
    copy_in(layout_, state.states, "statistic", false, values);
  }
  broadcast(values);
  for (size_t i = 0; i < names.size(); ++i) {
    float* flat = gather_state(i);
    auto* slot = reads ? slot_of(state, names[i]) : nullptr;
    if (slot) copy_in(layout_, *slot, names[i], true, flat);
    if (reads && !slot) std::memcpy(flat, values, front().weights->bytes());
    broadcast(flat);
    for (auto& update : updates_) {
      if (update) update->copy_state_in(i, flat);
    }
  }
  loss_scale_.restore(
      {state.loss_scale, state.loss_scale_steps, state.skipped_steps, state.skipped_in_row});
  for (auto& scale : device_loss_scales_) scale->set(loss_scale_.state());
  write_weights(values);
  renew_replicas();
}

// Each device's hash; where they differ, each device's hash of every tensor.
void Trainer::check_replicas() {
  std::vector<uint64_t> hashes;
  for (auto& replica : replicas_) hashes.push_back(layout_.hash(replica->read(host_weights_)));
  std::vector<uint64_t> all = gather_hashes(hashes);
  if (std::count(all.begin(), all.end(), all[0]) == static_cast<int64_t>(all.size())) return;
  for (const auto& entry : layout_.entries()) {
    hashes.clear();
    for (auto& replica : replicas_) {
      hashes.push_back(hash64(replica->read(host_weights_) + entry.offset,
                              static_cast<size_t>(entry.elements()) * sizeof(float)));
    }
    all = gather_hashes(hashes);
    size_t odd = odd_one_out(all);
    if (odd == all.size()) continue;
    const PlacedDevice& culprit = placement_.devices[odd];
    throw CommonError(
        Category::collective,
        fmt::format("the replicas differ: '{}' on {}{} has other bits than on {}; its memory or a "
                    "transfer is faulty; leave that device out and continue from the last "
                    "checkpoint with --resume auto",
                    entry.name, ranks() > 1 ? fmt::format("rank {}, ", culprit.rank) : "",
                    to_string(culprit.id), all.size() > 2 ? "most devices" : "the other device"));
  }
}

}  // namespace spire
