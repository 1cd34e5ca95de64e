// For programs that start several processes of this host as one run: the environment variables that
// tell each its rank, which read_launch() finds there, and why a run has ended.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/export.h>
#include <spire/failure.h>
#include <spire/world.h>

namespace spire {

class ReservedPort;

// Of one start: processes of another one cannot join. It lives until all processes have ended. Any
// thread may call variables().
class SPIRE_API LocalRanks {
 public:
  // Reserves a port of the loopback interface. Throws Error(config) for size < 1, Error(device) if
  // no port is free.
  explicit LocalRanks(int size);
  ~LocalRanks();
  LocalRanks(LocalRanks&&) noexcept;
  LocalRanks& operator=(LocalRanks&&) noexcept;

  int size() const { return size_; }
  // Names and values for the process with this rank, in 0 .. size() - 1. One of them is a secret.
  std::vector<std::pair<std::string, std::string>> variables(int rank) const;

 private:
  int size_;
  std::unique_ptr<ReservedPort> port_;
  std::string secret_;
};

// Returns the failure that ends the run, once this rank knows it. Any thread.
SPIRE_API std::optional<Failure> failure_of(const World& world);

}  // namespace spire
