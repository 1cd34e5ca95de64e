// Where processes come to: a listener that hears out all who come at a time, so that a silent
// stranger keeps nobody waiting.
#pragma once
#include <optional>
#include <vector>

#include <spire/process/frame.h>
#include <spire/process/socket.h>

namespace spire {

class Reception {
 public:
  explicit Reception(int port) : listener_(port) {}  // as Listener
  int port() const { return listener_.port(); }

  struct Visitor {
    Socket socket;
    Frame frame;
  };
  // The next connection that has sent a whole frame; nothing when the deadline passed. Whoever
  // sends something else is dropped.
  std::optional<Visitor> next(Deadline deadline);
  int dropped() const { return dropped_; }

 private:
  struct Caller {
    Socket socket;
    FrameReader reader;
  };
  bool wait(Deadline deadline);
  void admit();
  std::optional<Visitor> hear();

  Listener listener_;
  std::vector<Caller> callers_;
  int dropped_ = 0;
};

}  // namespace spire
