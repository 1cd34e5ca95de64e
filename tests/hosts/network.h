// Hosts for a test: network namespaces, made and removed by hosts.sh.
#pragma once
#include <string>
#include <vector>

#include "tests/tools/program.h"
#include "tests/tools/words.h"

namespace spire {

class Network {
 public:
  explicit Network(int hosts);  // host-1, host-2, ...; their addresses are 10.9.0.1, ...
  ~Network();                   // ends what runs there
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Why there is none; empty when there is: no root, no `ip`, a container that forbids it.
  const std::string& missing() const { return missing_; }

  // For Program("/usr/bin/env", ...): runs `command` on a host.
  Words on(int host, const Words& command) const;
  // mpirun on host-1 with `ranks` ranks a host, over TCP. What each rank says on stderr is also
  // kept by its own host, in folder/stderr.<rank>.
  Words mpirun(int hosts, int ranks, const std::string& folder) const;

  void cut(int host) const;
  void mend(int host) const;
  // Waits until no program of this name runs on the host, or nothing at all; false when it still
  // does after so many seconds.
  bool wait_until_gone(int host, const std::string& name, double seconds) const;
  bool wait_until_empty(int host, double seconds) const;

 private:
  Output call(const Words& words) const;
  std::string name(int host) const { return "host-" + std::to_string(host); }

  std::string net_;
  std::string missing_;
};

}  // namespace spire
