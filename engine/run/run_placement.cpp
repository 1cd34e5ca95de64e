#include "engine/run/run_placement.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/error.h>
#include <spire/gpu_monitor.h>

#include "engine/config/devices.h"
#include "engine/train/model_graph.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"

namespace spire::inline run {
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

// Other runs then choose other GPUs. A named GPU may be shared, but not silently; one that is not
// used after all is free again.
void claim_gpus(const Placement& placement, const RankHardware& own, GpuClaims& claims,
                std::vector<std::string>& warnings) {
  for (const CudaDeviceInfo& gpu : own.gpus) {
    DeviceId id{DeviceKind::cuda, gpu.index};
    bool used = std::ranges::any_of(placement.lanes,
                                    [&](const LaneSpec& lane) { return lane.device == id; });
    if (!used) claims.release(gpu.uuid);
    if (!used || gpu.uuid.empty()) continue;
    try {
      if (auto holder = claims.claim(gpu.uuid)) {
        warnings.push_back(fmt::format(
            "{} is also used by {}; both get slower, and share its memory; devices: auto:N "
            "chooses idle GPUs",
            to_string(id), to_string(*holder)));
      }
    } catch (const Error& error) {  // the run itself needs no claim
      warnings.push_back(
          fmt::format("{}; runs with devices: auto:N may take {}", error.what(), to_string(id)));
    }
  }
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

std::string RankGroup::host_of(int rank) const {
  return world_ ? world_->ranks[static_cast<size_t>(rank)].host : "";
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

RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads, const GpuQueue& queue) {
  RankHardware own = local_hardware();
  GpuQueue voting = queue;
  voting.agree = [&](QueueVote vote) { return count_votes(ranks, vote); };
  auto group = gpu_group(expand_devices(config.devices)[0]);
  if (group && group->idle) keep_idle_gpus(config, voting, GpuMonitor(), own);
  std::vector<RankHardware> places = {own};
  if (ranks.group()) places = gather_places(ranks, own);
  // Ranks on one host divide its cores and GPUs among themselves.
  places = share_out(places);
  RunPlacement placed;
  placed.placement = place_towers(config, places, ranks.rank(), kept_threads);
  placed.own = places[static_cast<size_t>(ranks.rank())];
  placed.cores = describe_use(placed.placement, placed.own);
  placed.warnings = std::move(own.warnings);
  placed.places = std::move(places);
  claim_gpus(placed.placement, placed.own, queue.claims, placed.warnings);
  placed.warnings = gather_warnings(ranks, placed.warnings);
  // Nothing runs silently in another precision.
  for (const LaneSpec& lane : placed.placement.lanes)
    expect_precision(lane.device, compute_dtype(config));
  return placed;
}

void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks) {
  cores += ", " + pin_lanes(pin, own, placement, locks);
  if (ranks.group()) cores = describe_ranks(ranks.all_gather(cores));
}

}  // namespace spire::inline run
