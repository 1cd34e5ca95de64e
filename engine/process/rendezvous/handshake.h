// Authentication of new connections: both ends prove that they know the run's secret before either
// tells anything of the run. The secret itself is never sent:
//
//   client                                    server
//   call: a nonce               ->
//                               <-            challenge: another nonce
//   proof: request, HMAC        ->
//                               <-            welcome: HMAC, or denied
//
// Both HMACs cover the side, the request and both nonces, so that neither can be replayed, sent to
// another rank, or reflected. Later messages are neither signed nor encrypted.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spire/error.h>
#include <spire/launch.h>

#include "engine/process/frame.h"

namespace spire::inline process {

// Returns a secret that cannot be guessed: 64 hexadecimal digits from the system's random numbers.
std::string random_secret();

// Returns SPIRE_SECRET, else the content of the file SPIRE_SECRET_FILE without trailing white
// space; nullopt if neither is set. Throws Error(config) for fewer than 16 characters or an
// unreadable file. No message shows a secret.
std::optional<std::string> read_secret(const Environment& environment);

using Proof = std::array<unsigned char, 32>;
using Nonce = std::array<unsigned char, 32>;
Nonce random_nonce();

// Returns the HMAC-SHA256 (RFC 2104) of `text`, keyed by the secret, which may have any length.
Proof prove(const std::string& secret, std::string_view text);
// Compares in constant time, so that timing reveals nothing of the right proof.
bool equal(const Proof& proof, std::string_view bytes);

inline constexpr uint32_t max_handshake_bytes = 128;  // of the text of each frame

// The purpose of a connection, as the client states it.
struct ConnectRequest {
  enum class Kind : uint32_t {
    join,  // to rank 0, which answers with the table of all ranks; no run is known yet
    peer,  // between two ranks of the table
  };
  Kind kind = Kind::join;
  uint64_t run = 0;  // of Kind::peer: rank 0's random number for this run
  int from = 0, to = 0;
};

// The identity of a rank that listens.
struct Credentials {
  std::string secret;
  uint64_t run = 0;
  int rank = 0;
};

// The other end has another secret.
class Denied : public Error {
 public:
  Denied() : Error(Category::collective, "it has another secret") {}
};

// Authenticates as the client. Sends no proof unless challenged by the deadline `challenged`; waits
// for the welcome until `welcomed`. Throws Denied, and Error(collective) if no rank of this run
// answers.
void authenticate(Socket& socket, const std::string& secret, const ConnectRequest& request,
                  Deadline challenged, Deadline welcomed);

// Authenticates as the server; never waits, and holds no more memory than one short frame.
class HandshakeServer {
 public:
  enum class State {
    incomplete,
    accepted,  // welcomed: the client belongs to the run
    denied,    // the client does not know the secret
    foreign,   // another protocol, or a request for another rank or run
    closed,
  };
  // Reads and answers the frames that have arrived.
  State advance(Socket& socket, const Credentials& credentials);
  const ConnectRequest& request() const { return request_; }
  bool called() const { return called_; }

 private:
  State answer(Socket& socket, const Credentials& credentials);
  State answer_call(Socket& socket);

  FrameReader reader_{max_handshake_bytes};
  bool called_ = false;
  std::string nonces_;  // the client's, then ours
  ConnectRequest request_;
};

}  // namespace spire::inline process
