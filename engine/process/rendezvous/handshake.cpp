#include "engine/process/rendezvous/handshake.h"

#include <chrono>
#include <cstring>

#include <sodium.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"

// The protocol. The secret itself is never sent:
//
//   client                                    server
//   call: a nonce               ->
//                               <-            challenge: another nonce
//   proof: request, HMAC        ->
//                               <-            welcome: HMAC, or denied
//   peer_info, if it joins      ->
//
// Both HMACs cover the side, the request and both nonces: neither can be replayed, sent to another
// rank, or reflected.
namespace spire {
namespace {

constexpr size_t min_secret_characters = 16;
constexpr size_t max_secret_bytes = 4096;
constexpr uint32_t max_peer_info_bytes = 1 << 20;  // with the cores of a large machine

std::string checked(std::string secret, const std::string& source) {
  secret.erase(secret.find_last_not_of(" \t\r\n") + 1);
  if (secret.size() < min_secret_characters) {
    fail(Category::config,
         "{} has {} characters, and needs {} or more that nobody can guess: make one with `openssl "
         "rand -hex 32`",
         source, secret.size(), min_secret_characters);
  }
  return secret;
}

std::string read_secret_file(const std::string& path) try {
  return read_stream(path, Category::config, max_secret_bytes);
} catch (const Error& error) {
  if (error.category() != Category::config) throw;
  fail(Category::config, "SPIRE_SECRET_FILE: {}", error.what());
}

// The side in whose name a proof is made. All parts of the text have a fixed length, so that no two
// different inputs have the same bytes.
constexpr const char* client = "Spire 1 caller  ";
constexpr const char* server = "Spire 1 answerer";

Proof prove_as(const char* side, const std::string& secret, const ConnectRequest& request,
               const std::string& nonces) {
  return prove(secret, side + bytes_of(request) + nonces);
}

constexpr size_t proof_frame_bytes = sizeof(ConnectRequest) + sizeof(Proof);

}  // namespace

std::string random_secret() {
  std::string digits;
  for (unsigned char byte : random_nonce()) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::optional<std::string> read_secret(const Environment& environment) {
  if (auto text = environment("SPIRE_SECRET")) return checked(*text, "SPIRE_SECRET");
  auto path = environment("SPIRE_SECRET_FILE");
  if (!path) return {};
  return checked(read_secret_file(*path), fmt::format("the file of SPIRE_SECRET_FILE={}", *path));
}

Nonce random_nonce() {
  need_sodium();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

uint64_t random_number() {
  need_sodium();
  uint64_t number;
  randombytes_buf(&number, sizeof number);
  return number;
}

Proof prove(const std::string& secret, std::string_view text) {
  static_assert(sizeof(Proof) == crypto_auth_hmacsha256_BYTES);
  need_sodium();
  // The streaming interface takes keys of any length; crypto_auth_hmacsha256() only of 32 bytes.
  crypto_auth_hmacsha256_state state;
  auto bytes = [](std::string_view from) {
    return reinterpret_cast<const unsigned char*>(from.data());
  };
  Proof proof;
  crypto_auth_hmacsha256_init(&state, bytes(secret), secret.size());
  crypto_auth_hmacsha256_update(&state, bytes(text), text.size());
  crypto_auth_hmacsha256_final(&state, proof.data());
  sodium_memzero(&state, sizeof state);
  return proof;
}

// Constant time: the time of a comparison that stops early would tell how many bytes are right.
bool equal(const Proof& proof, std::string_view bytes) {
  return bytes.size() == proof.size() &&
         sodium_memcmp(proof.data(), bytes.data(), proof.size()) == 0;
}

void authenticate(Socket& socket, const std::string& secret, const ConnectRequest& request,
                  Deadline challenged, Deadline welcomed) {
  std::string nonces = bytes_of(random_nonce());
  send_frame(socket, {FrameKind::call, nonces}, challenged);
  Frame challenge = receive_frame(socket, challenged, max_handshake_bytes);
  if (challenge.kind != FrameKind::challenge || challenge.text.size() != sizeof(Nonce))
    fail(Category::collective, "something else answers");
  nonces += challenge.text;
  Proof own = prove_as(client, secret, request, nonces);
  send_frame(socket, {FrameKind::proof, bytes_of(request) + bytes_of(own)}, welcomed);
  Frame welcome = receive_frame(socket, welcomed, max_handshake_bytes);
  if (welcome.kind == FrameKind::denied) throw Denied();
  if (welcome.kind != FrameKind::welcome ||
      !equal(prove_as(server, secret, request, nonces), welcome.text))
    fail(Category::collective, "something else answers, which does not know the run's secret");
}

// Answers are sent with a deadline of now: they fit the empty send buffer of a new connection, and
// a client whose connection takes less is dropped.
HandshakeServer::State HandshakeServer::advance(Socket& socket, const Credentials& own) try {
  for (;;) {
    switch (reader_.read(socket)) {
      case FrameReader::State::incomplete:
        return State::incomplete;
      case FrameReader::State::closed:
        return State::closed;
      case FrameReader::State::foreign:
        return stage_ == Stage::peer_info ? State::closed : State::foreign;
      case FrameReader::State::whole:
        break;
    }
    State state = answer(socket, own);
    if (state != State::incomplete) return state;
    reader_ = FrameReader(stage_ == Stage::peer_info ? max_peer_info_bytes : max_handshake_bytes);
  }
} catch (const Error&) {
  return State::closed;
}

HandshakeServer::State HandshakeServer::answer(Socket& socket, const Credentials& own) {
  const auto& [kind, text] = reader_.frame();
  if (stage_ == Stage::call && kind == FrameKind::call && text.size() == sizeof(Nonce))
    return answer_call(socket);
  if (stage_ == Stage::proof && kind == FrameKind::proof && text.size() == proof_frame_bytes)
    return answer_proof(socket, own);
  // A client that has proved itself is a rank, whatever it sends: no unknown peer to report.
  if (stage_ == Stage::peer_info)
    return kind == FrameKind::peer_info ? State::accepted : State::closed;
  return State::foreign;
}

HandshakeServer::State HandshakeServer::answer_call(Socket& socket) {
  std::string nonce = bytes_of(random_nonce());
  nonces_ = reader_.frame().text + nonce;
  stage_ = Stage::proof;
  send_frame(socket, {FrameKind::challenge, nonce}, std::chrono::steady_clock::now());
  return State::incomplete;
}

HandshakeServer::State HandshakeServer::answer_proof(Socket& socket, const Credentials& own) {
  std::string_view bytes = reader_.frame().text;
  std::memcpy(&request_, bytes.data(), sizeof request_);
  bool proven =
      equal(prove_as(client, own.secret, request_, nonces_), bytes.substr(sizeof request_));
  auto now = std::chrono::steady_clock::now();
  if (!proven) {
    send_frame(socket, {FrameKind::denied, ""}, now);
    return State::denied;
  }
  // It knows the secret, so a rank or run that does not match is a mistake: a stale address.
  if (request_.kind > ConnectRequest::Kind::peer) return State::foreign;
  bool joins = request_.kind == ConnectRequest::Kind::join;
  if (request_.to != own.rank || (!joins && request_.run != own.run)) return State::foreign;
  Proof welcome = prove_as(server, own.secret, request_, nonces_);
  send_frame(socket, {FrameKind::welcome, bytes_of(welcome)}, now);
  if (!joins) return State::accepted;
  stage_ = Stage::peer_info;
  return State::incomplete;
}

}  // namespace spire
