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

}  // namespace

bool UnknownPeer::visit(int port, std::vector<Socket>& open) const {
  Socket socket = connect_to(loopback_address, port, soon());
  try {
    if (secret) {
      authenticate(socket, *secret, {ConnectRequest::Kind::join, 0, 1, 0}, soon(), soon());
      return true;
    }
    for (const Frame& frame : frames) send_frame(socket, frame, soon());
    socket.send_all(bytes.data(), bytes.size(), soon());
  } catch (const Error&) {  // closed before it had said all, or denied
    if (secret) return false;
  }
  if (!stays) return told_more(socket);
  open.push_back(std::move(socket));
  return false;
}

const std::vector<UnknownPeer>& unknown_peers() {
  const Frame peer_info{FrameKind::peer_info, to_json(false_peer_info())},
      call{FrameKind::call, std::string(sizeof(Nonce), 'n')};
  static const std::vector<UnknownPeer> all = {
      {.name = "a wrong secret", .secret = "not the secret of this run"},
      {.name = "no secret", .secret = ""},
      {.name = "a PeerInfo of the right rank and size", .frames = {peer_info}},
      {.name = "a PeerInfo behind the challenge", .frames = {call, peer_info}},
      {.name = "a proof of nothing",
       .frames = {call, {FrameKind::proof, std::string(24 + sizeof(Proof), '\0')}}},
      {.name = "escapes in a PeerInfo",
       .frames = {{FrameKind::peer_info, "{\"rank\":1,\"host\":\"" + escapes + "\"}"}}},
      {.name = "an end of the run",
       .frames = {{FrameKind::refusal, "{\"category\":2,\"message\":\"" + escapes + "\"}"}}},
      {.name = "a call that is too long", .frames = {{FrameKind::call, std::string(1 << 20, 'x')}}},
      {.name = "escapes", .bytes = escapes + escapes},
      {.name = "a browser", .bytes = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {.name = "silence", .stays = true},
      {.name = "half a magic number", .bytes = "Spire", .stays = true},
  };
  return all;
}

}  // namespace spire
