// Authentication of new connections: both ends prove that they know the run's secret before either
// reveals anything about the run. Later messages are neither signed nor encrypted.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spire/error.h>
#include <spire/world.h>

#include "engine/process/frame.h"

namespace spire {

// Both come from the system's generator of random numbers:
std::string random_secret();  // 64 hexadecimal digits
uint64_t random_number();

// Returns SPIRE_SECRET, else the content of the file SPIRE_SECRET_FILE, without trailing white
// space; nullopt if neither is set. Throws Error(config) for fewer than 16 characters or an
// unreadable file. No message shows a secret.
std::optional<std::string> read_secret(const Environment& environment);

using Proof = std::array<unsigned char, 32>;
using Nonce = std::array<unsigned char, 32>;
Nonce random_nonce();

// Returns the HMAC-SHA256 (RFC 2104) of `text`, keyed by the secret, which may have any length.
Proof prove(const std::string& secret, std::string_view text);
bool equal(const Proof& proof, std::string_view bytes);  // in constant time

inline constexpr uint32_t max_handshake_bytes = 128;  // of a frame's text, except peer_info

// The purpose of a connection, as the client states it. The struct's bytes are sent.
struct ConnectRequest {
  enum class Kind : uint64_t {
    join,  // to rank 0, which answers with the table of all ranks; `run` is not known yet
    peer,  // between two ranks of the table
  };
  Kind kind = Kind::join;
  uint64_t run = 0;  // for Kind::peer: rank 0's random number for this run
  int32_t from = 0, to = 0;
};

// The identity with which a listening rank answers.
struct Credentials {
  std::string secret;
  uint64_t run = 0;
  int rank = 0;
};

class Denied : public Error {
 public:
  Denied() : Error(Category::collective, "it has another secret") {}
};

// Authenticates as the client; waits for the challenge until `challenged`, for the welcome until
// `welcomed`. Throws Denied if the secret is wrong, and Error(collective) if no rank of this run
// answers.
void authenticate(Socket& socket, const std::string& secret, const ConnectRequest& request,
                  Deadline challenged, Deadline welcomed);

// Authenticates a client as the server; never waits, and buffers at most one short frame of a
// client that is still unknown.
class HandshakeServer {
 public:
  enum class State {
    incomplete,
    accepted,  // welcomed, and its PeerInfo has arrived if it joins
    denied,    // the client does not know the secret
    foreign,   // another protocol, or a request for another rank or run
    closed,
  };
  enum class Stage { call, proof, peer_info };  // the frame that comes next

  State advance(Socket& socket, const Credentials& own);  // reads and answers what has arrived
  Stage stage() const { return stage_; }
  const ConnectRequest& request() const { return request_; }  // of an accepted client
  std::string& peer_info() { return reader_.frame().text; }   // of a client that joins: JSON

 private:
  State answer(Socket& socket, const Credentials& own);
  State answer_call(Socket& socket);
  State answer_proof(Socket& socket, const Credentials& own);

  FrameReader reader_{max_handshake_bytes};
  Stage stage_ = Stage::call;
  std::string nonces_;  // the client's, then this side's
  ConnectRequest request_;
};

}  // namespace spire
