#include "engine/train/state_transfer.h"

#include <algorithm>
#include <limits>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/observe/formatting.h"
#include "engine/train/state_tensors.h"
#include "engine/update/lane_arithmetic.h"

namespace spire {
namespace {

constexpr size_t room_beside_plan = size_t{64} << 20;  // bytes that are in no plan

// Nobody updates the frozen weights behind the buckets; they are divided to be broadcast.
std::vector<std::vector<FloatRange>> shards_of_ranks(const Placement& placement,
                                                     const ParameterLayout& layout,
                                                     std::vector<FloatRange> ranges) {
  ranges.push_back({layout.gradient_floats(), layout.total_floats()});
  std::vector<std::vector<FloatRange>> shards;
  for (int rank = 0; rank < placement.ranks; ++rank)
    shards.push_back(shards_of(ranges, placement.devices_of(rank)));
  return shards;
}

}  // namespace

StateTransfer::StateTransfer(DeviceSet& devices, GradientStage& gradients, UpdateStage& update,
                             const ParameterLayout& layout, const Ownership& who)
    : devices_(devices),
      gradients_(gradients),
      update_(update),
      layout_(layout),
      who_(who),
      shards_(shards_of_ranks(devices.placement(), layout, who.buckets),
              devices.host_communicator()),
      tensors_(layout, update.slots()) {}

size_t StateTransfer::piece_floats() const {
  return std::min(checkpoint_piece, static_cast<size_t>(layout_.model_floats()));
}

// The weights, then one slot after another.
size_t StateTransfer::snapshot_bytes() const {
  auto floats = layout_.model_floats() + std::ssize(update_.slots()) * layout_.trained_floats();
  return static_cast<size_t>(floats) * sizeof(float);
}

size_t StateTransfer::bytes(int device) const {
  return device == devices_.host_device() && in_pool() ? piece_floats() * sizeof(float) : 0;
}

void StateTransfer::choose_snapshot(SnapshotChoice choice) {
  MemoryUse plan = pool().planned();
  keeps_snapshot_ = choice == SnapshotChoice::always ||
                    (choice == SnapshotChoice::fitting && (gathers() || fits_snapshot(plan)));
  if (keeps_it_here() && in_pool()) plan[MemoryKind::checkpoint] += snapshot_bytes();
  pool().plan(plan);
}

// A snapshot is worth having, but not worth a run. Beside a GPU's plan it lies in the host's
// memory, which is in no plan; on a CPU the pool is asked with a plan that has room to spare.
bool StateTransfer::fits_snapshot(const MemoryUse& plan) const {
  size_t more = snapshot_bytes() + room_beside_plan;
  if (!in_pool()) {
    auto host = space_of(DeviceId{}).free;
    return !host || more <= *host;
  }
  MemoryUse with_snapshot = plan;
  with_snapshot[MemoryKind::checkpoint] += more;
  pool().plan(with_snapshot);
  return !foresee_shortage(devices_.pools());
}

std::string StateTransfer::text() const {
  std::string host = in_pool() ? "" : " in the host's memory";
  if (keeps_snapshot_)
    return fmt::format("from a snapshot of {}{}, while training goes on",
                       bytes_text(snapshot_bytes()), host);
  return fmt::format("from the state itself, in pieces of {}{}: steps wait (a snapshot takes {})",
                     bytes_text(piece_floats() * sizeof(float)), host,
                     bytes_text(snapshot_bytes()));
}

std::unique_ptr<DeviceMemory> StateTransfer::allocate_host(size_t bytes) {
  if (in_pool()) return pool().allocate(MemoryKind::checkpoint, bytes);
  return allocate_memory(DeviceId{}, bytes);
}

void StateTransfer::allocate() {
  piece_ = allocate_host(piece_floats() * sizeof(float));
  if (keeps_it_here()) snapshot_ = allocate_host(snapshot_bytes());
}

void StateTransfer::capture() {
  bool writes = devices_.placement().rank == 0;
  if (gathers() || (writes && snapshot_)) {
    take_snapshot();
  } else if (writes) {  // in place
    tensors_.bind(devices_.read_weights(), [this](size_t slot, FloatRange window, float* out) {
      update_.copy_state_out(slot, window, out);
    });
  }
}

// Where ranks own shards, rank 0's snapshot gathers them, window by window; the other ranks send
// theirs out of piece().
void StateTransfer::take_snapshot() {
  bool writes = devices_.placement().rank == 0;
  require(!writes || snapshot_, "the state of several ranks needs a snapshot");
  int64_t total = layout_.model_floats(), trained = layout_.trained_floats();
  float* copy = writes ? snapshot_->as<float>() : nullptr;
  const DeviceMemory& weights = *devices_.replica(devices_.host_device()).weights;
  if (writes)  // all replicas are equal
    weights.read(copy, static_cast<size_t>(total) * sizeof(float));
  for (size_t i = 0; i < update_.slots().size(); ++i) {
    float* slot = writes ? copy + total + static_cast<int64_t>(i) * trained : nullptr;
    for_each_window([&](FloatRange window) {
      float* to = writes ? slot + window.begin : piece().data();
      update_.copy_state_out(i, window, to);
      if (gathers())
        devices_.status().wait(0, [&] { shards_.gather(to, devices_.host_stream(), 0, window); });
    });
  }
  if (!writes) return;
  tensors_.bind(copy, [copy, total, trained](size_t slot, FloatRange window, float* out) {
    std::copy_n(copy + total + static_cast<int64_t>(slot) * trained + window.begin, window.size(),
                out);
  });
}

// Calls body(window) for the trained floats, cut so that each window fits in piece().
void StateTransfer::for_each_window(const std::function<void(FloatRange)>& body) {
  int64_t trained = layout_.trained_floats(), step = std::ssize(piece());
  for (int64_t at = 0; at < trained; at += step) body({at, std::min(at + step, trained)});
}

// All weights are broadcast, slots window by window, so that no rank needs room for all of them.
void StateTransfer::restore(const SavedTensors* tensors) {
  float* values = devices_.read_weights();
  if (tensors) read_weights(layout_, *tensors, false, values);
  devices_.status().wait(0, [&] { shards_.broadcast(values, devices_.host_stream()); });
  auto names = update_.slots();
  for (size_t i = 0; i < names.size(); ++i) restore_slot(i, names[i], tensors);
  update_.write_weights(values);
}

// A copy is edited, which becomes the weights of all replicas if nothing failed. That of a GPU's
// weights is one already.
void StateTransfer::set_weights(
    const std::function<void(const ParameterEntry&, std::span<float>)>& fill) {
  float* values = devices_.read_weights();
  if (devices_.placement().rank == 0) {
    bool in_place = devices_.replica(devices_.host_device()).weights->on_host();
    std::vector<float> copy(values, in_place ? values + layout_.total_floats() : values);
    float* edited = in_place ? copy.data() : values;
    for (const ParameterEntry& entry : layout_.entries())
      if (!entry.teacher)
        fill(entry, {edited + entry.offset, static_cast<size_t>(entry.elements())});
    std::ranges::copy(copy, values);
  }
  devices_.status().wait(0, [&] { shards_.broadcast(values, devices_.host_stream()); });
  update_.write_weights(values);
}

void StateTransfer::write_weight(FloatRange range, std::span<const float> values) {
  std::vector<float> sent(values.begin(), values.end());
  devices_.status().wait(0,
                         [&] { shards_.broadcast(sent.data(), devices_.host_stream(), 0, range); });
  update_.write_weight(range, sent.data());
}

// From rank 0, which alone has the tensors.
void StateTransfer::restore_slot(size_t slot, const std::string& name,
                                 const SavedTensors* tensors) {
  std::vector<GroupReader> readers;
  if (tensors) readers = slot_readers(layout_, *tensors, name);
  float* flat = piece().data();
  for_each_window([&](FloatRange window) {
    std::fill_n(flat, window.size(), 0.0f);  // padding between the tensors
    for (const GroupReader& reader : readers) reader.read(window, flat);
    devices_.status().wait(0, [&] { shards_.broadcast(flat, devices_.host_stream(), 0, window); });
    update_.copy_state_in(slot, window, flat);
  });
}

void StateTransfer::prepare_gradients() {
  if (host_gradients_) return;
  host_gradients_ =
      allocate_staging(devices_.device(devices_.host_device()).id,
                       static_cast<size_t>(layout_.gradient_floats()) * sizeof(float));
  squares_.resize(gradients_.chunks());
}

// The part of its member's sums that a device copies. Where all members have all sums, one copies
// them out (the host's device), and the front device of each takes them back.
std::vector<FloatRange> StateTransfer::gradients_of(int device) const {
  if (!who_.updates_every_replica()) return who_.updated_by({device, device + 1, who_.devices});
  if (!devices_.is_front(device)) return {};
  return {{0, layout_.gradient_floats()}};
}

void StateTransfer::copy_gradients_out(int lane) {
  LanePosition at = devices_.lane_position(lane);
  if (at.part > 0) return;
  if (who_.updates_every_replica() &&
      &devices_.member_of(at.device) != &devices_.member_of(devices_.host_device()))
    return;
  const float* sums = gradients_.sums(devices_.member_of(at.device));
  for (FloatRange range : gradients_of(at.device))
    devices_.stream(lane).copy(host_gradients().data() + range.begin, sums + range.begin,
                               static_cast<size_t>(range.size()) * sizeof(float));
}

// The parameter device is rank 0's; where every replica is updated, each rank has all sums.
void StateTransfer::gather_gradients() {
  if (devices_.ranks() == 1 || who_.updates_every_replica()) return;
  float* flat = host_gradients().data();
  FloatRange window = {0, layout_.gradient_floats()};
  devices_.status().wait(0, [&] {
    if (who_.shards_state()) return shards_.all_gather(flat, devices_.host_stream(), window);
    shards_.broadcast(flat, devices_.host_stream(), 0, window);
  });
}

void StateTransfer::send_gradients(bool overflowed) {
  float* flat = host_gradients().data();
  FloatRange window = {0, layout_.gradient_floats()};
  devices_.status().wait(0, [&] { shards_.broadcast(flat, devices_.host_stream(), 0, window); });
  for_chunks({0, layout_.trained_floats()}, [&](FloatRange chunk) {
    squares_[static_cast<size_t>(chunk.begin / TreeSum::chunk)] =
        sum_of_squares(flat + chunk.begin, chunk.size());
  });
  if (overflowed) squares_.front() = std::numeric_limits<double>::infinity();
}

void StateTransfer::copy_gradients_in(int lane) {
  LanePosition at = devices_.lane_position(lane);
  if (at.part > 0) return;
  LocalMember& member = devices_.member_of(at.device);
  Stream& stream = devices_.stream(lane);
  for (FloatRange range : gradients_of(at.device))
    stream.copy(gradients_.sums(member) + range.begin, host_gradients().data() + range.begin,
                static_cast<size_t>(range.size()) * sizeof(float));
  if (lane == member.lane)
    stream.copy(gradients_.squares(member).data(), squares_.data(),
                squares_.size() * sizeof(double));
}

}  // namespace spire
