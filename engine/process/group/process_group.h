// A group of processes that exchange messages. engine/update/exchange.h builds collectives on it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>
#include <spire/world.h>

#include "engine/process/socket.h"

namespace spire {

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

// Thrown if a lost rank or interrupt() ends an exchange: the consequence of a failure elsewhere.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message) : Error(Category::collective, message) {}
};

// An error that every rank detects and throws in the same words; no single rank caused it.
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
  // buffers may be overwritten. Messages from one rank to another are matched by their order in the
  // two lists, and have the size that the receiver expects; none goes to the rank itself. Called by
  // one thread at a time. Throws PeerLost. Allocates only if no earlier call had as many messages.
  virtual void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) = 0;

  // values[i] = sum over ranks of values[i], the same bits on each; the order of additions depends
  // on the transport. Called by the thread that calls exchange(). Throws PeerLost.
  virtual void all_reduce(float* values, int64_t count) = 0;

  // Makes exchanges throw PeerLost from now on. Any thread may call it.
  virtual void interrupt() noexcept = 0;
  virtual bool interrupted() const noexcept = 0;  // any thread
};

std::unique_ptr<ProcessGroup> single_process();  // a group of one: exchanges are empty

// Makes a group over stream sockets: peers[r] leads to rank r, peers[rank] is empty.
std::unique_ptr<ProcessGroup> socket_group(int rank, std::vector<Socket> peers);
// Makes socket groups, one entry per rank, for ranks that are threads of this process.
std::vector<std::unique_ptr<ProcessGroup>> threads_groups(int size);

// Makes a group over a duplicate of MPI_COMM_WORLD; initializes MPI (MPI_THREAD_SERIALIZED) once
// per process. Throws Error(device) in a build without MPI, Error(config) if MPI and the launcher's
// environment variables disagree. After a failure its destructor does not finalize MPI.
std::unique_ptr<ProcessGroup> mpi_group(const Launch& launch);
std::string mpi_version();  // empty in a build without MPI

// all_gather() returns one text per rank, broadcast() rank 0's text. Collective; throw PeerLost.
// Both allocate memory: they are for the start of a run, not for steps.
std::vector<std::string> all_gather(ProcessGroup& group, const std::string& mine);
std::string broadcast(ProcessGroup& group, const std::string& text);

// Gathers texts on rank 0 piece by piece, so that no process holds more than one piece; collective.
// Rank 0 passes its own pieces to `take`, then those of rank 1, and so on. next: returns the rank's
// next piece; "" when there is none left. take: called on rank 0 alone; must not throw, as the
// other ranks wait.
void gather_pieces(ProcessGroup& group, const std::function<std::string()>& next,
                   const std::function<void(std::string_view)>& take);

}  // namespace spire
