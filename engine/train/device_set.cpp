#include "engine/train/device_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/thread.h"
#include "engine/config/devices.h"
#include "engine/config/scalar.h"
#include "engine/train/memory/memory_limits.h"

namespace spire {
namespace {

// Returns the rows of the thread status: "cpu:0", or "cpu:0 lane 1" where a device has several;
// then the threads that exchange buckets, one a member of this process.
std::vector<std::string> thread_names(const Placement& placement) {
  std::vector<std::string> names;
  for (size_t l = 0; l < placement.lanes.size(); ++l) {
    const auto& device = placement.devices[static_cast<size_t>(placement.lane_device[l])];
    std::string lane = fmt::format(" lane {}", static_cast<int>(l) - device.first_lane);
    names.push_back(to_string(device.id) + (device.lanes > 1 ? lane : ""));
  }
  std::vector<std::string> fronts;
  for (const Member& member : placement.members) {
    if (member.rank == placement.rank)
      fronts.push_back(to_string(placement.devices[static_cast<size_t>(member.front)].id));
  }
  for (const std::string& front : fronts)
    names.push_back(fronts.size() > 1 ? front + " exchange" : "exchange");
  return names;
}

}  // namespace

DeviceSet::DeviceSet(const RunConfig& config, const Placement& placement,
                     const ParameterLayout& layout, ProcessGroup* group, const Options& options)
    : config_(config),
      placement_(placement),
      group_(group),
      local_(placement.devices_of(placement.rank)),
      status_(thread_names(placement)),
      // Rank 0 writes the checkpoints, so it has the parameter device.
      host_device_(placement.rank == 0 ? placement.parameter_device : local_.begin) {
  team_ = std::make_unique<LaneTeam>(placement_.lanes);
  find_members();
  make_devices(layout, options);
  host_stream_ = make_stream({});
  if (group_ && group_->size() > 1) host_communicator_ = make_device_exchange(*group_, {});
  if (member_count() > 1 && options.connects) connect_members();
}

void DeviceSet::find_members() {
  for (size_t m = 0; m < placement_.members.size(); ++m) {
    const Member& member = placement_.members[m];
    if (member.rank != placement_.rank) continue;
    LocalMember& local = members_.emplace_back();
    local.index = static_cast<int>(m);
    local.position = static_cast<int>(members_.size()) - 1;
    local.front = member.front;
    local.lane = device(member.front).first_lane;
  }
}

void DeviceSet::make_pools(const Options& options) {
  std::span<const PlacedDevice> devices(&device(local_.begin), static_cast<size_t>(local_.size()));
  std::vector<size_t> totals;
  for (const PlacedDevice& device : devices) totals.push_back(space_of(device.id).total);
  auto limits = limits_of(devices, totals, parse_memory_limit(config_.memory.limit));
  for (size_t d = 0; d < devices.size(); ++d) {
    limits[d].explain = options.explain;
    pools_.push_back(std::make_unique<MemoryPool>(devices[d].id, limits[d]));
  }
}

void DeviceSet::make_devices(const ParameterLayout& layout, const Options& options) {
  std::vector<DeviceId> ids;
  for (int d = local_.begin; d < local_.end; ++d) ids.push_back(device(d).id);
  make_pools(options);
  for (DeviceId id : ids) {
    replicas_.push_back(std::make_unique<Replica>(layout));
    // Logical devices on one GPU share the plans of the first.
    auto first = static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
    bool is_first = first == libraries_.size();
    libraries_.push_back(open_cuda_libraries(
        id,
        {.tf32 = config_.cuda.tf32,
         .cudnn_attention = config_.cuda.attention == CudaConfig::Attention::automatic,
         .tuning = options.tuning},
        is_first ? nullptr : libraries_[first].get()));
  }
  std::vector<Stream*> streams;
  for (const LaneSpec& lane : placement_.lanes) {
    streams_.push_back(make_stream(lane.device));
    streams.push_back(streams_.back().get());
  }
  barrier_ = std::make_unique<StreamBarrier>(*team_, streams);
}

// All ranks call it at the same point, as each waits for the others here.
void DeviceSet::connect_members() {
  std::vector<ExchangeEnd> ends;
  for (const LocalMember& member : members_)
    ends.push_back({member.index, device(member.front).id});
  ProcessGroup* group = host_communicator_ ? group_ : nullptr;
  std::vector<PeerRange> peers;
  for (const Member& member : placement_.members) peers.push_back(member.peers);
  DeviceExchanges communicators = make_device_exchanges(group, ends, peers);
  for (size_t m = 0; m < members_.size(); ++m)
    members_[m].communicator = std::move(communicators[m]);
}

LanePosition DeviceSet::lane_position(int lane) const {
  int index = placement_.lane_device[static_cast<size_t>(lane)];
  return {index, lane - device(index).first_lane, device(index).lanes};
}

// Where others send messages the communicator is asked meanwhile: if a member is lost, the stream
// never reaches the event.
void DeviceSet::await(int lane, const Event& event) {
  if (placement_.all_are_peers()) return stream(lane).await(event);
  Communicator& communicator = *member_of_lane(lane).communicator;
  for (Backoff backoff; !stream(lane).reached(event); backoff.pause()) communicator.check();
}

// A lost device has nothing left to do.
void DeviceSet::finish_streams() noexcept {
  for (const auto& stream : streams_) {
    try {
      stream->synchronize();
    } catch (const std::exception&) {
    }
  }
}

void DeviceSet::close_communicators() {
  for (LocalMember& member : members_) member.communicator.reset();
}

void DeviceSet::abort_communicators() noexcept {
  for (LocalMember& member : members_) {
    if (member.communicator) member.communicator->abort();
  }
}

}  // namespace spire
