// The devices of this process and what they keep while a trainer lives: host threads, streams,
// memory pools, replicas (copies of the weights), GPU libraries, and communicators.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/train/placement/placement.h"
#include "engine/train/replica.h"
#include "engine/update/exchange.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tuning.h"

namespace spire {

// A member of the run whose devices are this process's: see Member in placement.h.
struct LocalMember {
  int index = 0;     // index into Placement::members, and rank in the communicator
  int position = 0;  // index into DeviceSet::members()
  int front = 0;     // index into Placement::devices of the device that exchanges for all
  int lane = 0;      // first lane of the front device; it calls the communicator
  std::unique_ptr<Communicator> communicator;  // null if the run has a single member
};

// A lane's device, and which of `parts` equal parts of the device's elementwise work it does. A
// lane: a host thread that runs towers; a GPU has one, a CPU device has several.
struct LanePosition {
  int device = 0;  // index into Placement::devices
  int part = 0, parts = 1;
};

// Thread ownership: stream(lane) belongs to that lane while LaneTeam::parallel runs. Any lane may
// read the rest, but only the leading thread calls read_weights(), while no lane works.
class DeviceSet {
 public:
  struct Options {
    Tuning* tuning = nullptr;  // outlives this; null: each library's first choice of engine
    bool connects = true;      // false: the run is only planned, no communicators are made
    std::function<std::string(const MemoryShortage&)> explain;  // as MemoryPool::Options has it
  };
  // group: connects the processes of the run; null if there is one. All arguments but the options
  // outlive this. Blocks until all members have connected. Throws Error(device), PeerLost.
  DeviceSet(const RunConfig& config, const Placement& placement, const ParameterLayout& layout,
            ProcessGroup* group, const Options& options);

  const Placement& placement() const { return placement_; }
  const PlacedDevice& device(int index) const {
    return placement_.devices[static_cast<size_t>(index)];
  }
  Share local() const { return local_; }  // this process's devices
  int ranks() const { return placement_.ranks; }
  bool on_gpus() const { return placement_.lanes[0].device.kind == DeviceKind::cuda; }
  ProcessGroup* group() const { return group_; }

  // lane: index among the lanes of this process.
  LaneTeam& team() { return *team_; }
  int lanes() const { return team_->size(); }
  Stream& stream(int lane) { return *streams_[static_cast<size_t>(lane)]; }
  LanePosition lane_position(int lane) const;
  // Barrier of all lanes and their streams: work enqueued later on any stream runs after work that
  // was enqueued earlier on any. Throws BarrierBroken.
  void meet(int lane) { barrier_->meet(lane); }
  StreamBarrier& barrier() { return *barrier_; }
  ThreadStatus& status() { return status_; }

  // index: into Placement::devices; only devices of this process.
  MemoryPool& pool(int index) const { return *pools_[position(index)]; }
  const MemoryPools& pools() const { return pools_; }
  Replica& replica(int index) { return *replicas_[position(index)]; }
  const Replica& replica(int index) const { return *replicas_[position(index)]; }
  CudaLibraries* libraries(int index) { return libraries_[position(index)].get(); }  // null on CPUs

  std::vector<LocalMember>& members() { return members_; }
  int member_count() const { return static_cast<int>(placement_.members.size()); }  // all ranks'
  const Member& placed(const LocalMember& member) const {
    return placement_.members[static_cast<size_t>(member.index)];
  }
  LocalMember& member_of(int index) { return members_[member_position(index)]; }
  const LocalMember& member_of(int index) const { return members_[member_position(index)]; }
  LocalMember& member_of_lane(int lane) { return member_of(lane_position(lane).device); }
  bool is_front(int index) const { return member_of(index).front == index; }
  Replica& front_replica(const LocalMember& member) { return replica(member.front); }

  int host_device() const { return host_device_; }  // whose weights read_weights() reads
  // Returns a device's fp32 weights in host memory (Replica::read); valid until the next call.
  float* read_weights(int index) const { return replica(index).read(host_weights_); }
  float* read_weights() const { return read_weights(host_device_); }

  Communicator* host_communicator() { return host_communicator_.get(); }  // null if one process
  Stream& host_stream() { return *host_stream_; }

  // Blocks the lane's thread until its stream has reached the event. Throws PeerLost.
  void await(int lane, const Event& event);
  void finish_streams() noexcept;  // blocks until the lanes' streams have done their work
  void abort_communicators() noexcept;
  void close_communicators();  // then memory from which others receive may be freed

 private:
  size_t position(int index) const { return static_cast<size_t>(index - local_.begin); }
  size_t member_position(int index) const {
    return static_cast<size_t>(device(index).member - device(local_.begin).member);
  }
  void find_members();
  void make_pools(const Options& options);
  void make_devices(const ParameterLayout& layout, const Options& options);
  void connect_members();

  const RunConfig& config_;
  const Placement& placement_;
  ProcessGroup* group_;
  Share local_;
  ThreadStatus status_;
  std::unique_ptr<LaneTeam> team_;
  MemoryPools pools_;                                      // one per device of this process
  std::vector<std::unique_ptr<CudaLibraries>> libraries_;  // one per device
  std::vector<std::unique_ptr<Replica>> replicas_;         // one per device
  int host_device_;
  mutable Buffer host_weights_;
  std::vector<std::unique_ptr<Stream>> streams_;  // one per lane
  std::unique_ptr<StreamBarrier> barrier_;
  std::unique_ptr<Communicator> host_communicator_;
  std::unique_ptr<Stream> host_stream_;
  std::vector<LocalMember> members_;
};

}  // namespace spire
