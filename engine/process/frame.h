// Framing of messages between processes: a frame has a kind and a text.
#pragma once
#include <cstdint>
#include <string>

#include "engine/process/socket.h"

namespace spire {

enum class FrameKind : uint32_t {
  // The handshake (rendezvous/handshake.h):
  call,
  challenge,
  proof,
  welcome,
  denied,
  // The rendezvous, after the handshake:
  peer_info,   // to rank 0: a PeerInfo
  peer_table,  // rank 0's answer when all ranks have joined: every rank's PeerInfo
  refusal,     // rank 0's answer when it fails: category and message
  // Between the watchdogs of two ranks:
  control,  // a ControlMessage
};

struct Frame {
  FrameKind kind = FrameKind::call;
  std::string text;
};

// Longest text; enough for the table of some ten thousand ranks.
inline constexpr uint32_t max_frame_bytes = 16'777'216;

// Returns the bytes on the wire: a header with magic, kind and length, then the text.
std::string to_bytes(const Frame& frame);

// Send or receive one frame. Throw Error(collective) at the deadline or if the connection ends;
// receive_frame() also for bytes that are not a frame, or one with more than `max_bytes` of text.
void send_frame(Socket& socket, const Frame& frame, Deadline deadline);
Frame receive_frame(Socket& socket, Deadline deadline, uint32_t max_bytes = max_frame_bytes);

// Assembles one frame from bytes as they arrive; never reads beyond the end of the frame.
class FrameReader {
 public:
  enum class State {
    incomplete,
    whole,
    closed,   // the connection has ended; error() tells how
    foreign,  // not a frame, or one of more than `max_bytes` of text
  };

  explicit FrameReader(uint32_t max_bytes = max_frame_bytes) : max_bytes_(max_bytes) {}
  State read(const Socket& socket);  // never waits
  Frame& frame() { return frame_; }
  int error() const { return error_; }  // errno; 0: the peer closed the connection in good order

 private:
  uint32_t max_bytes_;
  std::string bytes_;  // of the header, then of the text
  bool in_text_ = false;
  size_t wanted_ = 0;  // size of bytes_ when that part is whole
  int error_ = 0;
  Frame frame_;
};

}  // namespace spire
