#include "tests/process/rendezvous/unknown_peer.h"

#include <chrono>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/rendezvous/peer_mesh.h"
#include "tests/process/rendezvous/launches.h"

namespace spire {
namespace {

const std::string escapes =
    "\x1b[2J\x1b]0;owned\x07\x9b"
    "31m\r\n";

PeerInfo false_peer_info() {
  PeerInfo peer;
  peer.info = {1, "host1", 101, {}};
  peer.size = 3;
  peer.port = 4711;
  peer.addresses = {"127.0.0.1"};
  return peer;
}

// Receives until the connection ends; returns whether a frame came that is no challenge and no
// denial.
bool told_more(Socket& socket) {
  try {
    for (;;) {
      FrameKind kind = receive_frame(socket, soon()).kind;
      if (kind != FrameKind::challenge && kind != FrameKind::denied) return true;
    }
  } catch (const Error&) {
    return false;
  }
}

bool say(int port, const std::string& bytes) {
  Socket socket = connect_to(loopback_address, port, soon());
  try {
    socket.send_all(bytes.data(), bytes.size(), soon());
  } catch (const Error&) {  // closed before it had said all
  }
  return told_more(socket);
}

bool say_frames(int port, const std::vector<Frame>& frames) {
  Socket socket = connect_to(loopback_address, port, soon());
  try {
    for (const Frame& frame : frames) send_frame(socket, frame, soon());
  } catch (const Error&) {
  }
  return told_more(socket);
}

bool guess(int port, const std::string& secret) {
  Socket socket = connect_to(loopback_address, port, soon());
  try {
    authenticate(socket, secret, {ConnectRequest::Kind::join, 0, 1, 0}, soon(), soon());
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool stay(int port, std::vector<Socket>& open, const std::string& bytes) {
  Socket socket = connect_to(loopback_address, port, soon());
  socket.send_all(bytes.data(), bytes.size(), soon());
  open.push_back(std::move(socket));
  return false;
}

std::string nonce() {
  return std::string(sizeof(Nonce), 'n');
}

}  // namespace

const std::vector<UnknownPeer>& unknown_peers() {
  using Open = std::vector<Socket>;
  static const std::vector<UnknownPeer> all = {
      {"a wrong secret", [](int port, Open&) { return guess(port, "not the secret of this run"); }},
      {"no secret", [](int port, Open&) { return guess(port, ""); }},
      {"a PeerInfo of the right rank and size",
       [](int port, Open&) {
         return say_frames(port, {{FrameKind::peer_info, to_json(false_peer_info())}});
       }},
      {"a PeerInfo behind the challenge",
       [](int port, Open&) {
         return say_frames(port, {{FrameKind::call, nonce()},
                                  {FrameKind::peer_info, to_json(false_peer_info())}});
       }},
      {"a proof of nothing",
       [](int port, Open&) {
         return say_frames(port, {{FrameKind::call, nonce()},
                                  {FrameKind::proof, std::string(24 + sizeof(Proof), '\0')}});
       }},
      {"escapes in a PeerInfo",
       [](int port, Open&) {
         return say_frames(port,
                           {{FrameKind::peer_info, "{\"rank\":1,\"host\":\"" + escapes + "\"}"}});
       }},
      {"an end of the run",
       [](int port, Open&) {
         return say_frames(
             port, {{FrameKind::refusal, "{\"category\":2,\"message\":\"" + escapes + "\"}"}});
       }},
      {"a call that is too long",
       [](int port, Open&) {
         return say_frames(port, {{FrameKind::call, std::string(1 << 20, 'x')}});
       }},
      {"escapes", [](int port, Open&) { return say(port, escapes + escapes); }},
      {"a browser",
       [](int port, Open&) { return say(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); }},
      {"silence", [](int port, Open& open) { return stay(port, open, ""); }},
      {"half a magic number", [](int port, Open& open) { return stay(port, open, "Spire"); }},
  };
  return all;
}

}  // namespace spire
