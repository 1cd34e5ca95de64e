// A group of processes that exchange messages. collective/ makes sums and gathers of exchanges.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/error.h>
#include <spire/launch.h>

#include "engine/process/socket.h"

namespace spire::inline process {

struct Outgoing {
  int peer = 0;
  const void* data = nullptr;
  size_t bytes = 0;
};
struct Incoming {
  int peer = 0;
  void* data = nullptr;
  size_t bytes = 0;
};

// An exchange's end by a lost rank or interrupt(): the consequence of a failure elsewhere.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message) : Error(Category::collective, message) {}
};

// An error that every rank detects and throws in the same words: no rank is its origin.
class SymmetricError : public Error {
 public:
  using Error::Error;
};

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string transport() const = 0;  // "MPI (Open MPI v4.1.4)", "TCP"

  // Sends and receives all messages concurrently; returns when all have arrived and the send
  // buffers may be overwritten. Messages between two ranks keep the order of the lists, and have
  // the size that the receiver expects; none goes to oneself. One thread at a time. Throws
  // PeerLost. Allocates nothing after the first call of its size.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) = 0;

  // values[i] = sum over ranks of values[i], the same bits on each; the order of additions depends
  // on the transport. On the thread of exchange(). Throws PeerLost.
  virtual void all_reduce(float* values, int64_t count) = 0;

  virtual void interrupt() noexcept = 0;          // all exchanges throw PeerLost now; any thread
  virtual bool interrupted() const noexcept = 0;  // any thread
};

std::unique_ptr<ProcessGroup> single_process();  // a group of one: exchanges are empty

// Makes a group over stream sockets: peers[r] leads to rank r, peers[rank] is empty.
std::unique_ptr<ProcessGroup> socket_group(int rank, std::vector<Socket> peers);
// Makes socket groups, by rank, for ranks that are threads of this process.
std::vector<std::unique_ptr<ProcessGroup>> threads_groups(int size);

// Makes a group over a duplicate of MPI_COMM_WORLD; initializes MPI (MPI_THREAD_SERIALIZED) once a
// process. Throws Error(device) in a build without MPI, Error(config) if MPI and the launcher's
// variables disagree.
std::unique_ptr<ProcessGroup> mpi_group(const Launch& launch);
std::string mpi_version();  // empty in a build without MPI

// Allocate: for set-up, not for steps.
std::vector<std::string> all_gather(ProcessGroup& group, const std::string& mine);  // by rank
std::string broadcast(ProcessGroup& group, const std::string& text);                // rank 0's

}  // namespace spire::inline process
