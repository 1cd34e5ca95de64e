#include "engine/process/rendezvous/handshake.h"

#include <chrono>
#include <cstring>

namespace spire::inline process {
namespace {

template <typename Array>
std::string bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size()};
}

// On the wire as in memory, as the header of a frame.
struct RouteBytes {
  uint32_t kind;
  int32_t from, to;
  uint32_t zero;
  uint64_t run;
};

std::string to_bytes(const Route& route) {
  RouteBytes fields{static_cast<uint32_t>(route.kind), route.from, route.to, 0, route.run};
  return {reinterpret_cast<const char*>(&fields), sizeof fields};
}

std::optional<Route> read_route(std::string_view bytes) {
  RouteBytes fields;
  if (bytes.size() != sizeof fields) return {};
  std::memcpy(&fields, bytes.data(), sizeof fields);
  if (fields.kind > static_cast<uint32_t>(Route::Kind::peer)) return {};
  return Route{static_cast<Route::Kind>(fields.kind), fields.run, fields.from, fields.to};
}

// All parts have a fixed length, so that no two meanings have the same bytes.
Proof proof_of_caller(const std::string& secret, const Route& route, const std::string& nonces) {
  return prove(secret, "Spire 1 caller  " + to_bytes(route) + nonces);
}
Proof proof_of_answerer(const std::string& secret, const Route& route, const std::string& nonces) {
  return prove(secret, "Spire 1 answerer" + to_bytes(route) + nonces);
}

}  // namespace

void introduce(Socket& socket, const std::string& secret, const Route& route, Deadline challenged,
               Deadline welcomed) {
  std::string nonces = bytes_of(random_nonce());
  send_frame(socket, {FrameKind::call, nonces}, challenged);
  Frame challenge = receive_frame(socket, challenged, FrameReader::shortest);
  bool fits = challenge.kind == FrameKind::challenge && challenge.text.size() == sizeof(Nonce);
  if (!fits) fail(Category::collective, "something else answers");
  nonces += challenge.text;
  std::string proof = to_bytes(route) + bytes_of(proof_of_caller(secret, route, nonces));
  send_frame(socket, {FrameKind::proof, proof}, welcomed);
  Frame welcome = receive_frame(socket, welcomed, FrameReader::shortest);
  if (welcome.kind == FrameKind::denied) throw Denied();
  if (welcome.kind != FrameKind::welcome ||
      !equal(proof_of_answerer(secret, route, nonces), welcome.text))
    fail(Category::collective, "something else answers, which does not know the run's secret");
}

Introduction::State Introduction::advance(Socket& socket, const Badge& badge) {
  for (;;) {
    switch (reader_.read(socket)) {
      case FrameReader::State::incomplete:
        return State::incomplete;
      case FrameReader::State::closed:
        return State::closed;
      case FrameReader::State::foreign:
        return State::foreign;
      case FrameReader::State::whole:
        break;
    }
    State state = answer(socket, badge);
    if (state != State::incomplete) return state;
    reader_ = FrameReader(FrameReader::shortest);
  }
}

// Both answers fit what a new connection takes at once; one that takes less is given up.
Introduction::State Introduction::answer(Socket& socket, const Badge& badge) try {
  auto now = std::chrono::steady_clock::now();
  const Frame& frame = reader_.frame();
  if (!called_) {
    if (frame.kind != FrameKind::call || frame.text.size() != sizeof(Nonce)) return State::foreign;
    called_ = true;
    std::string own = bytes_of(random_nonce());
    nonces_ = frame.text + own;
    send_frame(socket, {FrameKind::challenge, own}, now);
    return State::incomplete;
  }
  if (frame.kind != FrameKind::proof || frame.text.size() != sizeof(RouteBytes) + sizeof(Proof))
    return State::foreign;
  auto route = read_route(std::string_view(frame.text).substr(0, sizeof(RouteBytes)));
  auto proof = std::string_view(frame.text).substr(sizeof(RouteBytes));
  if (!route || !equal(proof_of_caller(badge.secret, *route, nonces_), proof)) {
    send_frame(socket, {FrameKind::denied, ""}, now);
    return State::denied;
  }
  bool other_run = route->kind == Route::Kind::peer && route->run != badge.run;
  if (route->to != badge.rank || other_run) return State::foreign;
  route_ = *route;
  auto own = proof_of_answerer(badge.secret, route_, nonces_);
  send_frame(socket, {FrameKind::welcome, bytes_of(own)}, now);
  return State::known;
} catch (const Error&) {
  return State::closed;
}

}  // namespace spire::inline process
