// A port of this machine's loopback on which rank 0 can listen.
#pragma once

namespace spire::tool {

// While one lives, the system gives its port to nobody who asks for any port; a process that asks
// for this one and allows reuse (Listener does) gets it.
class MasterPort {
 public:
  MasterPort();  // Error(device) when there is none
  ~MasterPort();
  MasterPort(const MasterPort&) = delete;
  MasterPort& operator=(const MasterPort&) = delete;

  int number() const { return number_; }

 private:
  int descriptor_ = -1;
  int number_ = 0;
};

}  // namespace spire::tool
