// How the two ends of a new connection prove to each other that they belong to one run, before
// either tells anything of it. The secret itself is never sent:
//
//   caller                                    answerer
//   call: a nonce               ->
//                               <-            challenge: another nonce
//   proof: route, HMAC          ->
//                               <-            welcome: HMAC, or denied
//
// Both HMACs are over the side, the route and both nonces, so that neither can be played back, to
// another rank or the other way round. What follows on the connection is neither signed nor
// encrypted.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <spire/error.h>

#include "engine/process/frame.h"
#include "engine/process/rendezvous/secret.h"
#include "engine/process/socket.h"

namespace spire::inline process {

// What a connection is for.
struct Route {
  enum class Kind : uint32_t {
    join,  // to rank 0, which answers with the table of all ranks; no run is known yet
    peer,  // between two ranks that know each other from the table
  };
  Kind kind = Kind::join;
  uint64_t run = 0;  // of peers: what rank 0 numbered this meeting
  int from = 0, to = 0;
};

// By what a rank that listens knows its own.
struct Badge {
  std::string secret;
  uint64_t run = 0;
  int rank = 0;
};

// The other end has another secret.
class Denied : public Error {
 public:
  Denied() : Error(Category::collective, "it has another secret") {}
};

// The caller's side. Nothing is proved to somebody who is silent until `challenged`; the welcome
// has until `welcomed`. Throws Denied, and Error(collective) when no rank of this run answers.
void introduce(Socket& socket, const std::string& secret, const Route& route, Deadline challenged,
               Deadline welcomed);

// The answerer's side; never waits, and takes no more memory than one short frame.
class Introduction {
 public:
  enum class State {
    incomplete,
    known,    // welcomed: it belongs to the run
    denied,   // it does not know the secret
    foreign,  // it speaks another language, or looks for another rank or run
    closed,
  };
  // Reads and answers what is there.
  State advance(Socket& socket, const Badge& badge);
  const Route& route() const { return route_; }
  bool called() const { return called_; }

 private:
  State answer(Socket& socket, const Badge& badge);

  FrameReader reader_{FrameReader::shortest};
  bool called_ = false;
  std::string nonces_;
  Route route_;
};

}  // namespace spire::inline process
