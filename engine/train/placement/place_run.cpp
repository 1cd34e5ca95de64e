#include "engine/train/placement/place_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/train/model_graph.h"

namespace spire {
namespace {

// Exchanges the resources that a rank cannot see of another one: limits and GPUs. Host and cores
// are known since the ranks have met.
std::vector<RankHardware> gather_places(const RankGroup& ranks, const RankHardware& own) {
  std::vector<std::string> all =
      ranks.all_gather(limits_to_text(own.limits) + "\n" + gpus_to_text(own));
  std::vector<RankHardware> places;
  for (const RankInfo& info : ranks.world()->ranks) {
    RankHardware& place = places.emplace_back(RankHardware{info.host, info.cores, {}, ""});
    const std::string& text = all[static_cast<size_t>(info.rank)];
    size_t line = text.find('\n');
    place.limits = read_limits(text.substr(0, line));
    read_gpus(text.substr(line + 1), place);
    if (info.rank != ranks.rank()) continue;
    place.machine_cores = own.machine_cores;
    place.near_gpu = own.near_gpu;
  }
  return places;
}

// All ranks' votes on whether to wait for idle GPUs: the last of them counts.
QueueVote count_votes(const RankGroup& ranks, QueueVote own) {
  if (!ranks.group()) return own;
  int most = 0;
  for (const std::string& vote : ranks.all_gather(std::to_string(static_cast<int>(own))))
    most = std::max(most, std::stoi(vote));
  return static_cast<QueueVote>(most);
}

// What others do on the GPUs that the run may take.
void look_at_gpus(const GpuMonitor& monitor, RankHardware& own) {
  if (!monitor.why_none().empty()) return;
  for (const CudaDeviceInfo& gpu : own.gpus) {
    GpuUse& use = own.use[gpu.index] = look_at(gpu, monitor);
    add_percent(use.percent, use);
  }
}

// Where GPUs are left out, the first of the ranks that have the same ones claims as many as the run
// keeps, for all of them, and all ranks learn which ones other runs have claimed. Returns whether
// some are left out.
bool choose_least_loaded(const RunConfig& config, const RankGroup& ranks, const GpuQueue& queue,
                         RankHardware& own, std::vector<RankHardware>& places) {
  std::vector<SharedGpus> kept = kept_gpus(config, places);
  if (kept.empty()) return false;
  for (const SharedGpus& shared : kept)
    if (shared.gives_up_some && shared.ranks[0] == static_cast<size_t>(ranks.rank()))
      claim_least_loaded(own, shared.count, queue);
  places = ranks.group() ? gather_places(ranks, own) : std::vector<RankHardware>{own};
  leave_spare_gpus(config, places);
  return true;
}

// Two ranks cannot use one GPU, as NCCL refuses that. With auto:N each has chosen for itself; if
// they chose the same list, share_out() divides it.
void expect_own_gpus(const std::vector<RankHardware>& places) {
  std::map<std::pair<std::string, std::string>, size_t> rank_of;  // by host and UUID
  for (size_t rank = 0; rank < places.size(); ++rank)
    for (const CudaDeviceInfo& gpu : places[rank].gpus) {
      auto [other, is_new] = rank_of.insert({{places[rank].host, gpu.uuid}, rank});
      if (is_new || gpu.uuid.empty() ||
          std::ranges::equal(places[other->second].gpus, places[rank].gpus, {},
                             &CudaDeviceInfo::uuid, &CudaDeviceInfo::uuid))
        continue;
      fail(Category::device,
           "devices: auto:N: processes {} and {} of the run would share a GPU of host {}, {}, as "
           "too few are there for all; ask for fewer, or start fewer processes",
           other->second, rank, places[rank].host, gpu.uuid);
    }
}

bool is_used(const CudaDeviceInfo& gpu, const Placement& placement) {
  DeviceId id{DeviceKind::cuda, gpu.index};
  return std::ranges::any_of(placement.lanes,
                             [&](const LaneSpec& lane) { return lane.device == id; });
}

// So that the run's other ranks can claim theirs.
void free_unused_claims(const RankHardware& own, const Placement& placement, GpuClaims& claims) {
  for (const CudaDeviceInfo& gpu : own.gpus)
    if (!is_used(gpu, placement)) claims.release(gpu.uuid);
}

// Who else is on a GPU that the run takes: processes that NVML lists, and another run's claim.
std::string others_on(const GpuUse& use, const std::optional<ClaimHolder>& holder) {
  std::string text = others_on(use);
  if (!holder) return text;
  std::string pid = fmt::format("process {}", holder->pid);
  if (text.empty() || text.starts_with("others")) return to_string(*holder);
  return text.find(pid) == text.npos ? to_string(*holder) + ", " + text : text;
}

// Other runs then choose other GPUs. A GPU may be shared, but not silently. idle: the user asked
// for idle GPUs already.
void claim_gpus(const Placement& placement, const RankHardware& own, bool idle, GpuClaims& claims,
                std::vector<std::string>& warnings) {
  int64_t count = std::ssize(placement.devices);
  std::string hint =
      idle ? "" : fmt::format("; auto:{} takes {}", count, counted(count, "idle GPU"));
  for (const CudaDeviceInfo& gpu : own.gpus) {
    if (!is_used(gpu, placement)) continue;
    DeviceId id{DeviceKind::cuda, gpu.index};
    std::optional<ClaimHolder> holder;
    try {
      holder = claims.claim(gpu.uuid);
    } catch (const Error& error) {  // the run itself needs no claim
      warnings.push_back(
          fmt::format("{}; runs with devices: auto:N may take {}", error.what(), to_string(id)));
    }
    auto found = own.use.find(gpu.index);
    GpuUse use = found == own.use.end() ? GpuUse{} : found->second;
    if (!use.works)
      warnings.push_back(fmt::format("{} does not work, by NVML: {}", to_string(id), use.busy));
    std::string others = others_on(use, holder);
    if (others.empty()) continue;
    warnings.push_back(fmt::format("{} is also used by {}; both get slower, and share its memory{}",
                                   to_string(id), others, hint));
  }
}

// Nothing runs silently in another precision: it changes only where CPUs stand in for GPUs.
void settle_precision(const RunConfig& config, RunPlacement& placed) {
  using Precision = RunConfig::Precision;
  if (placed.placement.fell_back && config.precision == Precision::fp16) {
    placed.precision = Precision::fp32;
    placed.warnings.push_back(
        "precision: fp32 in the place of fp16, which only GPUs compute, as the CPU stands in for "
        "them (on_missing: cpu)");
    return;
  }
  for (const LaneSpec& lane : placed.placement.lanes)
    expect_precision(lane.device, compute_dtype(config));
}

// Rank 0 reports what all ranks warn of; one that says the same as rank 0 is not repeated.
std::vector<std::string> gather_warnings(const RankGroup& ranks,
                                         const std::vector<std::string>& own) {
  if (!ranks.group()) return own;
  std::vector<std::string> all = ranks.all_gather(fmt::format("{}", fmt::join(own, "\n")));
  std::vector<std::string> warnings;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty() || (rank > 0 && all[rank] == all[0])) continue;
    warnings.push_back(rank == 0 ? all[0] : fmt::format("rank {}: {}", rank, all[rank]));
  }
  return warnings;
}

}  // namespace

RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads, const GpuQueue& queue) {
  RankHardware own = local_hardware();
  GpuQueue voting = queue;
  voting.agree = [&](QueueVote vote) { return count_votes(ranks, vote); };
  auto words = expand_devices(config.devices);
  auto group = gpu_group(words[0]);
  bool idle = group && group->idle;
  if (idle || (!own.gpus.empty() && (words[0] == "auto" || are_gpus(words)))) {
    GpuMonitor monitor;  // opening it may take seconds
    if (idle) keep_idle_gpus(config, voting, monitor, own);
    look_at_gpus(monitor, own);
  }
  std::vector<RankHardware> places = {own};
  if (ranks.group()) places = gather_places(ranks, own);
  if (idle) expect_own_gpus(places);
  bool gives_up_some = choose_least_loaded(config, ranks, queue, own, places);
  // Ranks on one host divide its cores and GPUs among themselves.
  places = share_out(places);
  RunPlacement placed;
  placed.placement = place_towers(config, places, ranks.rank(), kept_threads);
  placed.own = places[static_cast<size_t>(ranks.rank())];
  placed.cores = describe_use(placed.placement, placed.own);
  placed.warnings = std::move(own.warnings);
  placed.places = std::move(places);
  free_unused_claims(own, placed.placement, queue.claims);
  if (gives_up_some && ranks.group()) ranks.all_gather("");  // one rank held them for all
  claim_gpus(placed.placement, own, idle, queue.claims, placed.warnings);
  placed.warnings = gather_warnings(ranks, placed.warnings);
  settle_precision(config, placed);
  return placed;
}

void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks) {
  cores += ", " + pin_lanes(pin, own, placement, locks);
  if (ranks.group()) cores = describe_ranks(ranks.all_gather(cores));
}

std::string RankGroup::host_of(int rank) const {
  return world_ ? world_->ranks[static_cast<size_t>(rank)].host : "";
}

bool RankGroup::is_first_here() const {
  if (!world_) return true;
  auto first = std::ranges::find(world_->ranks, host_of(rank()), &RankInfo::host);
  return first == world_->ranks.end() || first->rank == rank();
}

int RankGroup::processes_here() const {
  if (!world_) return 1;
  return static_cast<int>(std::ranges::count(world_->ranks, host_of(rank()), &RankInfo::host));
}

void RankGroup::wait(const std::function<void()>& exchange) const {
  status_ ? status_->wait(0, exchange) : exchange();
}

std::vector<std::string> RankGroup::all_gather(const std::string& text) const {
  std::vector<std::string> all;
  wait([&] { all = spire::all_gather(*group(), text); });
  return all;
}

std::string RankGroup::broadcast(const std::string& text) const {
  std::string received;
  wait([&] { received = spire::broadcast(*group(), text); });
  return received;
}

}  // namespace spire
