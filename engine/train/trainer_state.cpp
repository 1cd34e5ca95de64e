// The trainer's state out of and into checkpoints.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/base/hash.h"
#include "engine/train/state_tensors.h"
#include "engine/train/trainer.h"

namespace spire::inline training {
namespace {

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

std::vector<std::string> Trainer::slots() const {
  auto names = optimizer_->slots();
  if (ema_.on()) names.emplace_back(average_slot);
  return names;
}

void Trainer::describe(StateMetadata& state) const {
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

// What this process's devices have of a window of a slot.
void Trainer::read_slot(size_t slot, FloatRange window, float* out) const {
  for (const auto& update : updates_) {
    if (update) update->copy_state_out(slot, window, out);
  }
}

void Trainer::hold_state() {
  require(!averaged_ && under_way() == 0, "the state before the end of a step or evaluation");
  bool holds = placement_.rank == 0;
  if (gathers_state() || (holds && snapshot_)) {
    take_snapshot();
  } else if (holds) {
    held_->hold(weights(), [this](size_t slot, FloatRange window, float* out) {
      read_slot(slot, window, out);
    });
  }
}

// Rank 0's snapshot is the weights, then one slot after another. Where ranks own slices it has all
// of them, of others' by way of their pieces.
void Trainer::take_snapshot() {
  bool writes = placement_.rank == 0;
  require(!writes || snapshot_, "the state of several ranks needs a snapshot");
  int64_t total = layout_.total_floats(), trained = layout_.trained_floats();
  float* copy = writes ? snapshot_->as<float>() : nullptr;
  if (writes) front().weights->read(copy, front().weights->bytes());
  for (size_t i = 0; i < slots().size(); ++i) {
    float* slot = writes ? copy + total + static_cast<int64_t>(i) * trained : nullptr;
    for_each_window([&](FloatRange window) {
      float* to = writes ? slot + window.begin : piece().data();
      read_slot(i, window, to);
      if (gathers_state())
        board_.wait(0, [&] { state_slices_->gather(to, *host_stream_, window); });
    });
  }
  if (!writes) return;
  held_->hold(copy, [copy, total, trained](size_t slot, FloatRange window, float* out) {
    std::copy_n(copy + total + static_cast<int64_t>(slot) * trained + window.begin, window.size(),
                out);
  });
}

// body(window) for the trained floats, cut so that each window fits in piece().
void Trainer::for_each_window(const std::function<void(FloatRange)>& body) {
  int64_t trained = layout_.trained_floats(), step = std::ssize(piece());
  for (int64_t at = 0; at < trained; at += step) body({at, std::min(at + step, trained)});
}

void Trainer::restore(const StateMetadata& state, const SavedTensors* tensors) {
  bool reads = placement_.rank == 0;
  float* values = front().read(host_weights_);
  if (reads) read_weights(layout_, *tensors, false, values);
  board_.wait(0, [&] { state_slices_->broadcast(values, *host_stream_); });
  auto names = slots();
  for (size_t i = 0; i < names.size(); ++i) restore_slot(i, names[i], reads ? tensors : nullptr);
  loss_scale_.restore(
      {state.loss_scale, state.loss_scale_steps, state.skipped_steps, state.skipped_in_row});
  for (auto& scale : device_loss_scales_) scale->set(loss_scale_.state());
  write_weights(values);
  renew_replicas();
}

// From rank 0, which alone has the tensors. An average that the checkpoint's run did not make
// begins with the weights.
void Trainer::restore_slot(size_t slot, const std::string& name, const SavedTensors* tensors) {
  std::optional<GroupReader> reader;
  if (tensors) {
    auto group = find_slot(*tensors, name);
    if (!group && name != average_slot) {
      fail(Category::checkpoint,
           "the checkpoint has no optimizer state '{}'; use the optimizer of its run, or start a "
           "new run",
           name);
    }
    reader.emplace(layout_, *tensors, group ? *group : find_weights(*tensors), true, name);
  }
  float* flat = piece().data();
  for_each_window([&](FloatRange window) {
    std::fill_n(flat, window.size(), 0.0f);  // what lies between the tensors
    if (reader) reader->read(window, flat);
    board_.wait(0, [&] { state_slices_->broadcast(flat, *host_stream_, 0, window); });
    for (auto& update : updates_) {
      if (update) update->copy_state_in(slot, window, flat);
    }
  });
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
    throw SymmetricError(
        Category::collective,
        fmt::format("the replicas differ: '{}' on {}{} has other bits than on {}; its memory or a "
                    "transfer is faulty; leave that device out and continue from the last "
                    "checkpoint with --resume auto",
                    entry.name, ranks() > 1 ? fmt::format("rank {}, ", culprit.rank) : "",
                    to_string(culprit.id), all.size() > 2 ? "most devices" : "the other device"));
  }
}

}  // namespace spire::inline training
