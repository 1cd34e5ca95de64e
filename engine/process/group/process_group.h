// The processes of a run, and the one thing they do together: exchange messages. Sums, gathers and
// broadcasts are made of exchanges (collective/), so that a transport is one function.
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

// An exchange that cannot end because another rank is gone, or because interrupt() was called: a
// consequence of a failure elsewhere, not its cause.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message) : Error(Category::collective, message) {}
};

// What all ranks find and throw alike: none of them is its place.
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

  // Sends and receives all of these at a time; returns when all have arrived and what was sent may
  // be overwritten. Several messages between two ranks keep the order of the lists. A message has
  // the size its receiver expects. Never to oneself. Waiting sleeps rather than spins once it takes
  // longer than some tens of microseconds.
  // One thread at a time. Throws PeerLost. Allocates nothing after the first call of its size.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) = 0;

  // values[i] = sum over ranks of values[i], in the transport's own order of additions. The same
  // result on each rank. One thread at a time, the same as exchange. Throws PeerLost.
  virtual void all_reduce(float* values, int64_t count) = 0;

  // Any thread: an exchange under way, and every later one, throws PeerLost.
  virtual void interrupt() noexcept = 0;
  virtual bool interrupted() const noexcept = 0;  // any thread
};

// A run of one process: exchange() takes only empty lists, all_reduce() leaves the values alone.
std::unique_ptr<ProcessGroup> single_process();

// Over one stream socket to each other rank: peers[r] leads to rank r, peers[rank] is empty.
// What torchrun-style launches use. Sums are taken in rank order.
std::unique_ptr<ProcessGroup> socket_group(int rank, std::vector<Socket> peers);
// socket_group() for ranks that are threads of this process, joined by socket pairs; by rank.
std::vector<std::unique_ptr<ProcessGroup>> threads_groups(int size);

// Initialises MPI (MPI_THREAD_SERIALIZED; at most once a process) and takes its world. Throws
// Error(device) in a build without MPI, Error(config) when MPI counts the ranks otherwise than the
// launcher's variables do (srun without --mpi=pmix starts every rank as a world of one).
// After a failure the destructor does not finalise MPI, for that would wait for the dead.
std::unique_ptr<ProcessGroup> mpi_group(const Launch& launch);
std::string mpi_version();  // empty in a build without MPI

// Every rank gives `mine`, every rank gets all, by rank. For set-up, not for steps: it allocates.
std::vector<std::string> all_gather(ProcessGroup& group, const std::string& mine);
// Rank 0's text reaches every rank.
std::string broadcast(ProcessGroup& group, const std::string& text);

}  // namespace spire::inline process
