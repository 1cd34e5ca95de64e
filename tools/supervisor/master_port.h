// Port on this machine's loopback that is reserved for rank 0 to listen on.
#pragma once

namespace spire::tool {

// Reserves a port during its lifetime: the system gives it to no process that asks for any port. A
// process that asks for this port and allows reuse (Listener does) gets it.
class MasterPort {
 public:
  MasterPort();  // throws Error(device) where no port is free
  ~MasterPort();
  MasterPort(const MasterPort&) = delete;
  MasterPort& operator=(const MasterPort&) = delete;

  int number() const { return number_; }

 private:
  int descriptor_ = -1;
  int number_ = 0;
};

}  // namespace spire::tool
