// What processes say to each other while they join: a frame is a kind and a text.
#pragma once
#include <cstdint>
#include <string>

#include "engine/process/socket.h"

namespace spire::inline process {

enum class FrameKind : uint32_t {
  // handshake.h says what these hold.
  call,
  challenge,
  proof,
  welcome,
  denied,
  // Between two that have proved themselves:
  hello,    // to rank 0: a PeerInfo
  table,    // rank 0's answer when all are there: every rank's PeerInfo, a line each
  refusal,  // rank 0's answer when it fails: the category's number, a space, the message
};

struct Frame {
  FrameKind kind = FrameKind::call;
  std::string text;
};

inline constexpr uint32_t kLongestFrameText = 16 << 20;  // a table of some ten thousand ranks

// Both throw Error(collective), receive_frame() also when what comes is no frame, or one whose text
// has more than `most` bytes.
void send_frame(Socket& socket, const Frame& frame, Deadline deadline);
Frame receive_frame(Socket& socket, Deadline deadline, uint32_t most = kLongestFrameText);

// Takes the bytes of one frame as they come, and none that follow it.
class FrameReader {
 public:
  enum class State { incomplete, whole, closed, foreign };
  static constexpr uint32_t shortest = 128;  // bytes: enough until both ends are known

  // Whoever sends more than `most` bytes of text is foreign.
  explicit FrameReader(uint32_t most = kLongestFrameText) : most_(most) {}
  State read(const Socket& socket);  // what is there; never waits
  Frame& frame() { return frame_; }

 private:
  uint32_t most_;
  std::string bytes_;  // of the header, then of the text
  bool in_text_ = false;
  size_t wanted_ = 0;
  Frame frame_;
};

}  // namespace spire::inline process
