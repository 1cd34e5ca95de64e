// Devices of this process for as long as a trainer lives: host threads, streams, memory pools,
// replicas, libraries of GPUs, and the communicators of its members.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/exchange.h"
#include "engine/config/memory_limit.h"
#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/train/placement.h"
#include "engine/train/replica.h"
#include "kernels/autotune/tuning.h"
#include "kernels/nvidia/libraries.h"

namespace spire::inline training {

// A member of this process.
struct LocalMember {
  int index = 0;     // of all members: its rank in the communicator
  int position = 0;  // of this process's members
  int front = 0;     // device that sends and receives for it; an index into Placement::devices
  int lane = 0;      // the front's first lane, which calls the communicator
  std::unique_ptr<Communicator> communicator;  // null: the run has one member
};

// One lane's device, and its part of that device's elementwise work.
struct LaneSite {
  int device = 0;  // index into Placement::devices
  int part = 0, parts = 1;
};

// Thread ownership: stream(lane) belongs to that lane while LaneTeam::parallel runs; any lane may
// read the rest, but read_weights() is the leading thread's while no lane works.
class DeviceSet {
 public:
  struct Options {
    MemoryLimit memory_limit;
    CudaConfig cuda;
    Tuning* tuning = nullptr;  // outlives this; null: the libraries' favourites
    bool connects = true;      // false: for a plan alone; members do not meet
    // Returns the message of a shortage; `sharers` pools have one memory.
    std::function<std::string(const MemoryShortage&, int sharers)> explain;
  };
  // group: joins the placement's ranks; null for one. All arguments outlive this, but the options.
  // Blocks until all members are there. Throws Error(device), PeerLost.
  DeviceSet(const Placement& placement, const ParameterLayout& layout, ProcessGroup* group,
            const Options& options);

  const Placement& placement() const { return placement_; }
  const PlacedDevice& device(int index) const {
    return placement_.devices[static_cast<size_t>(index)];
  }
  Share local() const { return local_; }  // this process's devices
  int ranks() const { return placement_.ranks; }
  bool on_gpus() const { return placement_.lanes[0].device.kind == DeviceKind::cuda; }
  ProcessGroup* group() const { return group_; }

  // By lane of this process.
  LaneTeam& team() { return *team_; }
  int lanes() const { return team_->size(); }
  Stream& stream(int lane) { return *streams_[static_cast<size_t>(lane)]; }
  LaneSite site(int lane) const;
  // Orders all lanes' streams: earlier work of any before later work of any. Throws BarrierBroken.
  void meet(int lane) { barrier_->meet(lane); }
  StreamBarrier& barrier() { return *barrier_; }
  ThreadStatus& status() { return status_; }

  // By index into Placement::devices, for devices of this process.
  MemoryPool& pool(int index) const { return *pools_[position(index)]; }
  const MemoryPools& pools() const { return pools_; }
  Replica& replica(int index) { return *replicas_[position(index)]; }
  const Replica& replica(int index) const { return *replicas_[position(index)]; }
  CudaLibraries* libraries(int index) { return libraries_[position(index)].get(); }  // null: a CPU

  std::vector<LocalMember>& members() { return members_; }
  int member_count() const { return static_cast<int>(placement_.members.size()); }  // of all ranks
  const Member& placed(const LocalMember& member) const {
    return placement_.members[static_cast<size_t>(member.index)];
  }
  LocalMember& member_of(int index) { return members_[member_position(index)]; }
  const LocalMember& member_of(int index) const { return members_[member_position(index)]; }
  LocalMember& member_of_lane(int lane) { return member_of(site(lane).device); }
  bool is_front(int index) const { return member_of(index).front == index; }
  Replica& front_replica(const LocalMember& member) { return replica(member.front); }

  int host_device() const { return host_device_; }  // its weights the host reads
  // Returns a device's plain weights for the host, as Replica::read(); valid until the next call.
  float* read_weights(int index) const { return replica(index).read(host_weights_); }
  float* read_weights() const { return read_weights(host_device_); }

  Communicator* host_communicator() { return host_communicator_.get(); }  // null: one process
  Stream& host_stream() { return *host_stream_; }

  // Blocks the lane until its stream has reached the event. Throws PeerLost.
  void await(int lane, const Event& event);
  void abort_communicators() noexcept;
  void close_communicators();  // memory that others receive from may be freed afterwards

 private:
  size_t position(int index) const { return static_cast<size_t>(index - local_.begin); }
  size_t member_position(int index) const {
    return static_cast<size_t>(device(index).member - device(local_.begin).member);
  }
  void find_members();
  void make_pools(const std::vector<DeviceId>& ids, const Options& options);
  void make_devices(const ParameterLayout& layout, const Options& options);
  void connect_members();

  const Placement& placement_;
  ProcessGroup* group_;
  Share local_;
  ThreadStatus status_;
  std::unique_ptr<LaneTeam> team_;
  MemoryPools pools_;                                      // one a device
  std::vector<std::unique_ptr<CudaLibraries>> libraries_;  // the same
  std::vector<std::unique_ptr<Replica>> replicas_;         // the same
  int host_device_;
  mutable Buffer host_weights_;
  std::vector<std::unique_ptr<Stream>> streams_;  // one a lane
  std::unique_ptr<StreamBarrier> barrier_;
  std::unique_ptr<Communicator> host_communicator_;
  std::unique_ptr<Stream> host_stream_;
  std::vector<LocalMember> members_;
};

}  // namespace spire::inline training
