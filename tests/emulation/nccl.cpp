#include "nccl.h"

#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include <unistd.h>

#include "engine/update/nccl_calls.h"
#include "links.h"
#include "machine.h"

using namespace spire::emulation;

namespace {

// A message, or the part that is not yet sent or received.
struct Message {
  int peer = 0;
  bool sends = false;
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// Messages of one direction with one peer go in order, all others side by side.
class Exchange {
 public:
  void add(const Message& message) { queues_[{message.peer, message.sends}].push_back(message); }

  // Moves what can be moved; false as long as something is left. Throws ncclRemoteError.
  bool advance(Links& links) {
    bool through = true;
    for (auto& [key, queue] : queues_) {
      while (!queue.empty() && move_some(links, queue.front())) queue.erase(queue.begin());
      through &= queue.empty();
    }
    return through;
  }

 private:
  static bool move_some(Links& links, Message& message) {
    ptrdiff_t moved = message.sends ? links.send_some(message.peer, message.data, message.bytes)
                                    : links.receive_some(message.peer, message.data, message.bytes);
    if (moved < 0) throw ncclRemoteError;
    message.data += moved;
    message.bytes -= static_cast<size_t>(moved);
    return message.bytes == 0;
  }

  std::map<std::pair<int, bool>, std::vector<Message>> queues_;
};

}  // namespace

struct EmulatedComm {
  int rank = 0, size = 1, device = 0;
  std::shared_ptr<Links> links = std::make_shared<Links>();
  std::atomic<ncclResult_t> error{ncclInProgress};
  std::atomic<bool> aborted{false};
  std::string words;  // of the error
  std::thread setup{};
};

namespace {

// The state of a comm that work on streams shares: it may outlive the comm's handle.
using Comm = std::shared_ptr<EmulatedComm>;
std::map<ncclComm_t, Comm>& comms() {  // REQUIRES: a Turn
  static auto* all = new std::map<ncclComm_t, Comm>;
  return *all;
}

Comm find(ncclComm_t handle) {
  auto found = comms().find(handle);
  return found == comms().end() ? nullptr : found->second;
}

struct Put {
  Comm comm;
  cudaStream_t stream = nullptr;
  Exchange exchange{};
};
// The open group of the thread: a piece of work for each communicator and stream.
struct Group {
  int depth = 0;
  std::vector<Put> puts;
  ncclResult_t result = ncclSuccess;
};
thread_local Group group;

// Refuses buffers on another device than the communicator's.
bool is_native(const Machine& machine, const EmulatedComm& comm, const void* data, size_t bytes) {
  Region region = machine.memory.find(data, bytes);
  return region.side == Side::device && region.device == comm.device;
}

bool is_peer(const EmulatedComm& comm, int peer) {
  return peer >= 0 && peer < comm.size && peer != comm.rank;
}

ncclResult_t check(const Machine& machine, const Comm& comm, const void* data, size_t bytes,
                   const Stream& stream) {
  if (!comm) return ncclInvalidArgument;
  if (stream->device != comm->device || stream->branch.capture) return ncclInvalidUsage;
  return is_native(machine, *comm, data, bytes) ? ncclSuccess : ncclInvalidArgument;
}

// Work that is tried again until it is done or the communicator is aborted.
template <typename Try>
Work work_of(const Comm& comm, Try attempt) {
  return [comm, attempt = std::move(attempt)]() mutable {
    if (comm->aborted) return true;
    if (comm->error != ncclSuccess) return false;
    try {
      return attempt();
    } catch (ncclResult_t error) {
      comm->words = "a peer has closed its connection";
      comm->error = error;
      return false;
    }
  };
}

// Adds work to the open group, or makes a group of it alone.
ncclResult_t add(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
                 cudaStream_t stream, bool sends) {
  size_t bytes = count * (type == ncclFloat ? sizeof(float) : 1);
  ncclGroupStart();
  ncclResult_t result = ncclInvalidArgument;
  Comm comm;
  cudaError_t code = call([&](Machine& machine) {
    comm = find(handle);
    result = check(machine, comm, data, bytes, machine.find(stream));
    if (comm && !is_peer(*comm, peer)) result = ncclInvalidArgument;
  });
  if (code != cudaSuccess) result = ncclUnhandledCudaError;
  if (result == ncclSuccess) {
    auto same = [&](const Put& put) { return put.comm == comm && put.stream == stream; };
    auto at = std::find_if(group.puts.begin(), group.puts.end(), same);
    if (at == group.puts.end()) at = group.puts.insert(at, Put{comm, stream});
    at->exchange.add({peer, sends, static_cast<std::byte*>(const_cast<void*>(data)), bytes});
  } else {
    group.result = result;
  }
  ncclResult_t end = ncclGroupEnd();
  return result == ncclSuccess ? end : result;
}

// All ranks send their values to all, and each adds them up.
class AllReduce {
 public:
  AllReduce(const Comm& comm, const float* from, float* to, size_t count)
      : comm_(comm), from_(from), to_(to), count_(count) {}

  bool operator()() {
    if (parts_.empty()) begin();
    if (!exchange_.advance(*comm_->links)) return false;
    std::vector<float> sum = parts_[0];
    for (size_t rank = 1; rank < parts_.size(); ++rank)
      for (size_t i = 0; i < count_; ++i) sum[i] += parts_[rank][i];
    std::memcpy(to_, sum.data(), count_ * sizeof(float));
    return true;
  }

 private:
  void begin() {
    parts_.assign(static_cast<size_t>(comm_->size), std::vector<float>(count_));
    auto& own = parts_[static_cast<size_t>(comm_->rank)];
    own.assign(from_, from_ + count_);
    auto bytes_of = [](std::vector<float>& floats) {
      return reinterpret_cast<std::byte*>(floats.data());
    };
    for (int peer = 0; peer < comm_->size; ++peer) {
      if (peer == comm_->rank) continue;
      exchange_.add({peer, true, bytes_of(own), count_ * sizeof(float)});
      exchange_.add(
          {peer, false, bytes_of(parts_[static_cast<size_t>(peer)]), count_ * sizeof(float)});
    }
  }

  Comm comm_;
  const float* from_;
  float* to_;
  size_t count_;
  std::vector<std::vector<float>> parts_{};
  Exchange exchange_{};
};

void end_setup(const Comm& comm) {
  if (comm->setup.joinable()) comm->setup.join();
}

// Removes the communicator from the table and ends its thread.
ncclResult_t release(ncclComm_t handle, bool abort) {
  Comm comm;
  call([&](Machine&) {
    comm = find(handle);
    comms().erase(handle);
  });
  if (!comm) return ncclInvalidArgument;
  comm->aborted = abort;
  end_setup(comm);
  return ncclSuccess;
}

}  // namespace

namespace spire {

const NcclCalls& nccl() {
  static const NcclCalls calls = {
      .unique_id = ncclGetUniqueId,
      .init = ncclCommInitRankConfig,
      .finalize = ncclCommFinalize,
      .destroy = ncclCommDestroy,
      .abort = ncclCommAbort,
      .async_error = ncclCommGetAsyncError,
      .error_string = ncclGetErrorString,
      .last_error = ncclGetLastError,
      .group_start = ncclGroupStart,
      .group_end = ncclGroupEnd,
      .send = ncclSend,
      .receive = ncclRecv,
      .all_reduce = ncclAllReduce,
  };
  return calls;
}

}  // namespace spire

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> count{0};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "%d-%d", static_cast<int>(getpid()), count++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking || rank < 0 || rank >= size) return ncclInvalidArgument;
  auto comm = std::make_shared<EmulatedComm>();
  comm->rank = rank;
  comm->size = size;
  comm->device = current_device();
  comm->setup = std::thread([comm = comm.get(), name = std::string(id.internal)] {
    bool whole = comm->links->connect(name, comm->rank, comm->size, comm->device, comm->aborted,
                                      &comm->words);
    comm->error = whole ? ncclSuccess : comm->words.empty() ? ncclSystemError : ncclInvalidUsage;
  });
  *handle = comm.get();
  call([&](Machine&) { comms()[comm.get()] = comm; });
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return release(comm, false);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return release(comm, true);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->error;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInvalidArgument:
      return "invalid argument";
    default:
      return "internal error";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm ? comm->words.c_str() : "";
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  std::vector<Put> puts = std::move(group.puts);
  ncclResult_t result = group.result;
  group = {};
  if (result != ncclSuccess) return result;
  for (Put& put : puts) {
    auto exchange = std::make_shared<Exchange>(std::move(put.exchange));
    cudaError_t code = call([&](Machine& machine) {
      machine.put(machine.find(put.stream), work_of(put.comm, [exchange, links = put.comm->links] {
                    return exchange->advance(*links);
                  }));
    });
    if (code != cudaSuccess) return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(data, count, type, peer, comm, stream, true);
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(data, count, type, peer, comm, stream, false);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t handle, cudaStream_t stream) {
  if (type != ncclFloat) return ncclInvalidArgument;
  ncclResult_t result = ncclSuccess;
  cudaError_t code = call([&](Machine& machine) {
    Comm comm = find(handle);
    const Stream& on = machine.find(stream);
    result = check(machine, comm, to, count * sizeof(float), on);
    if (result != ncclSuccess) return;
    auto reduce = std::make_shared<AllReduce>(comm, static_cast<const float*>(from),
                                              static_cast<float*>(to), count);
    machine.put(on, work_of(comm, [reduce] { return (*reduce)(); }));
  });
  return code == cudaSuccess ? result : ncclUnhandledCudaError;
}
