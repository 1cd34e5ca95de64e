// The memory of a trainer's devices: planned when everything is compiled, then allocated, once.
#include <algorithm>

#include <spire/error.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "engine/observe/units.h"
#include "engine/train/out_of_memory.h"
#include "engine/train/trainer.h"

namespace spire::inline training {
namespace {

constexpr size_t room_beside_plan = size_t{64} << 20;

}  // namespace

void Trainer::make_pools(const std::vector<DeviceId>& ids, const TrainerOptions& options) {
  MemoryRemedies remedies;
  remedies.batch_size = placement_.batch_size;
  remedies.devices = static_cast<int>(placement_.devices.size());
  remedies.sharded = placement_.strategy == Strategy::sharded;
  remedies.can_skip_snapshot = !gathers_state();
  for (DeviceId id : ids) {
    bool cpu = id.kind == DeviceKind::cpu;
    auto sharers =
        std::count_if(ids.begin(), ids.end(), [&](DeviceId other) { return cpu || other == id; });
    MemoryPool::Options pool;
    pool.limit = options.memory_limit.share(space_of(id).total, static_cast<size_t>(sharers));
    remedies.sharers = static_cast<int>(sharers);
    pool.explain = [this, remedies, recompute = options.recompute](const MemoryShortage& shortage) {
      MemoryRemedies now = remedies;
      bool compiled = !lanes_.empty() && lanes_.front();
      now.can_recompute = !recompute && compiled && lanes_.front()->has_blocks();
      return out_of_memory_text(shortage, now);
    };
    pools_.push_back(std::make_unique<MemoryPool>(id, pool));
  }
}

TensorNorms* Trainer::norms_of(int d) const {
  if (norms_.empty()) return nullptr;
  return norms_[mirrored() ? static_cast<size_t>(d - local_.begin) : member_of(d).front].get();
}

size_t Trainer::exchange_bytes(const LocalMember& member) const {
  if (members() == 1) return 0;
  return GradientReduction::exchange_bytes(exchange_options(), member.index, node_buffers(member),
                                           pools_[member.front]->device());
}

size_t Trainer::chunks() const {
  return static_cast<size_t>((layout_.trained_floats() + TreeSum::chunk - 1) / TreeSum::chunk);
}

MemoryUse Trainer::plan_of(int d) const {
  auto i = static_cast<size_t>(d - local_.begin);
  MemoryUse use = replicas_[i]->memory();
  for (int l = device(d).first_lane; l < device(d).first_lane + device(d).lanes; ++l)
    use += lanes_[static_cast<size_t>(l)]->memory();
  if (sampler_ && d == placement_.lane_device[0]) use += sampler_->memory();
  if (!update_options_[i].owned.empty())
    use[MemoryKind::optimizer] += update_bytes(update_options_[i], layout_);
  if (!norms_.empty() && norms_[i]) use[MemoryKind::optimizer] += norms_[i]->bytes();
  if (loss_scale_.on()) use[MemoryKind::optimizer] += DeviceLossScale::bytes;
  if (i == front_ && pools_[i]->device().kind == DeviceKind::cpu)
    use[MemoryKind::checkpoint] += checkpoint_bytes();
  if (!is_front(d)) return use;
  use[MemoryKind::workspace] +=
      chunks() * sizeof(double) +
      CrossTowerSums::bytes(lanes_.front()->tower_sums(), placement_.towers);
  use[MemoryKind::communication] += exchange_bytes(member_of(d));
  return use;
}

size_t Trainer::piece_floats() const {
  return std::min(checkpoint_piece, static_cast<size_t>(layout_.total_floats()));
}

size_t Trainer::snapshot_bytes() const {
  auto floats = layout_.total_floats() + std::ssize(slots()) * layout_.trained_floats();
  return static_cast<size_t>(floats) * sizeof(float);
}

size_t Trainer::checkpoint_bytes() const {
  bool copies = keeps_snapshot_ && placement_.rank == 0;
  return piece_floats() * sizeof(float) + (copies ? snapshot_bytes() : 0);
}

std::string Trainer::checkpoints_text() const {
  auto text = [](size_t bytes) { return bytes_text(static_cast<int64_t>(bytes)); };
  std::string host =
      pools_[front_]->device().kind == DeviceKind::cpu ? "" : " in the host's memory";
  if (keeps_snapshot_)
    return fmt::format("from a snapshot of {}{}, while training goes on", text(snapshot_bytes()),
                       host);
  return fmt::format("from the state itself, in pieces of {}{}: steps wait (a snapshot takes {})",
                     text(piece_floats() * sizeof(float)), host, text(snapshot_bytes()));
}

// Of the front device's pool where that is the host's.
std::unique_ptr<DeviceMemory> Trainer::host_memory(size_t bytes) {
  MemoryPool& pool = *pools_[front_];
  if (pool.device().kind == DeviceKind::cpu) return pool.allocate(MemoryKind::checkpoint, bytes);
  return spire::allocate_memory({}, bytes);
}

// A snapshot is worth having, but not worth a run: what no plan knows of gets room, too.
void Trainer::choose_snapshot(SnapshotChoice choice) {
  keeps_snapshot_ = choice == SnapshotChoice::always ||
                    (choice == SnapshotChoice::fitting && (gathers_state() || snapshot_fits()));
}

bool Trainer::snapshot_fits() {
  MemoryPool& pool = *pools_[front_];
  size_t more = snapshot_bytes() + room_beside_plan;
  if (pool.device().kind != DeviceKind::cpu) {
    auto host = space_of(DeviceId{}).free;
    return !host || more <= *host;
  }
  plan_memory();
  MemoryUse with_snapshot = pool.planned();
  with_snapshot[MemoryKind::checkpoint] += more;
  pool.plan(with_snapshot);
  return !foresee_shortage(pools_);
}

void Trainer::plan_memory() {
  for (int d = local_.begin; d < local_.end; ++d) pool_of(d).plan(plan_of(d));
}

std::string Trainer::memory_shortage() const {
  auto shortage = foresee_shortage(pools_);
  return shortage ? pools_.front()->explain(*shortage) : "";
}

// Lanes allocate on their own threads, one after another.
void Trainer::allocate_memory() {
  if (std::string shortage = memory_shortage(); !shortage.empty())
    throw Error(Category::out_of_memory, shortage);
  for (size_t i = 0; i < pools_.size(); ++i) {
    replicas_[i]->allocate(*pools_[i]);
    if (!norms_.empty() && norms_[i]) norms_[i]->allocate(*pools_[i]);
    if (loss_scale_.on())
      device_loss_scales_.push_back(
          std::make_unique<DeviceLossScale>(*pools_[i], loss_scale_.config(), loss_scale_.state()));
  }
  piece_ = host_memory(piece_floats() * sizeof(float));
  if (keeps_snapshot_ && placement_.rank == 0) snapshot_ = host_memory(snapshot_bytes());
  for (LocalMember& member : members_)
    member.squares =
        pools_[member.front]->allocate(MemoryKind::workspace, chunks() * sizeof(double));
  team_->lead([&] {
    for (size_t l = 0; l < lanes_.size(); ++l) {
      team_->parallel([&](int lane) {
        if (static_cast<size_t>(lane) == l) lanes_[l]->allocate();
      });
    }
    if (sampler_) sampler_->allocate(pool_of(placement_.lane_device[0]));
  });
}

MemoryByKind Trainer::by_kind(const MemoryUse& use) const {
  bool on_gpus = placement_.lanes[0].device.kind == DeviceKind::cuda;
  MemoryByKind kinds;
  for (MemoryKind kind : all_memory_kinds) {
    if (kind == MemoryKind::communication && members() == 1) continue;
    if (kind == MemoryKind::checkpoint && on_gpus) continue;
    kinds.emplace_back(name(kind), static_cast<int64_t>(use[kind]));
  }
  return kinds;
}

std::vector<MemoryByKind> Trainer::planned_memory() const {
  std::vector<MemoryByKind> memory;
  for (int d = local_.begin; d < local_.end; ++d) memory.push_back(by_kind(pool_of(d).planned()));
  return memory;
}

std::vector<MemoryByKind> Trainer::peak_memory() const {
  std::vector<MemoryByKind> memory;
  for (int d = local_.begin; d < local_.end; ++d) memory.push_back(by_kind(pool_of(d).peak()));
  return memory;
}

std::vector<std::optional<size_t>> Trainer::memory_limits() const {
  std::vector<std::optional<size_t>> limits;
  for (const auto& pool : pools_) limits.push_back(pool->limit());
  return limits;
}

}  // namespace spire::inline training
