// What processes say to each other while they join: a frame is a kind and a text.
#pragma once
#include <cstdint>
#include <string>

#include <spire/process/socket.h>

namespace spire {

enum class FrameKind : uint32_t {
  hello,    // to rank 0: a Hello
  table,    // rank 0's answer when all are there: every rank's Hello, a line each
  refusal,  // rank 0's answer when it fails: the category's number, a space, the message
  peer,     // on a connection between two ranks: token, from, to
  welcome,  // its answer: this is the rank you look for
};

struct Frame {
  FrameKind kind = FrameKind::hello;
  std::string text;
};

// Both throw Error(collective), receive_frame() also when what comes is no frame.
void send_frame(Socket& socket, const Frame& frame, Deadline deadline);
Frame receive_frame(Socket& socket, Deadline deadline);

// Takes the bytes of one frame as they come, and none that follow it.
class FrameReader {
 public:
  enum class State { incomplete, whole, closed, foreign };
  State read(const Socket& socket);  // what is there; never waits
  Frame& frame() { return frame_; }

 private:
  std::string bytes_;  // of the header, then of the text
  bool in_text_ = false;
  size_t wanted_ = 0;
  Frame frame_;
};

}  // namespace spire
