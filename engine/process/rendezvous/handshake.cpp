#include "engine/process/rendezvous/handshake.h"

#include <chrono>
#include <cstring>

#include <sodium.h>

#include "engine/base/read_file.h"

namespace spire::inline process {
namespace {

constexpr size_t min_secret_characters = 16;
constexpr size_t max_secret_bytes = 4096;

void need_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) fail(Category::device, "the system gives no random numbers (libsodium)");
}

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

template <typename Array>
std::string bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size()};
}

// A ConnectRequest on the wire: as in memory, like the header of a frame.
struct RequestBytes {
  uint32_t kind;
  int32_t from, to;
  uint32_t zero;
  uint64_t run;
};

std::string to_bytes(const ConnectRequest& request) {
  RequestBytes fields{static_cast<uint32_t>(request.kind), request.from, request.to, 0,
                      request.run};
  return {reinterpret_cast<const char*>(&fields), sizeof fields};
}

std::optional<ConnectRequest> read_request(std::string_view bytes) {
  RequestBytes fields;
  if (bytes.size() != sizeof fields) return {};
  std::memcpy(&fields, bytes.data(), sizeof fields);
  if (fields.kind > static_cast<uint32_t>(ConnectRequest::Kind::peer)) return {};
  return ConnectRequest{static_cast<ConnectRequest::Kind>(fields.kind), fields.run, fields.from,
                        fields.to};
}

// All parts have a fixed length, so that no two different inputs have the same bytes.
Proof proof_of_client(const std::string& secret, const ConnectRequest& request,
                      const std::string& nonces) {
  return prove(secret, "Spire 1 caller  " + to_bytes(request) + nonces);
}
Proof proof_of_server(const std::string& secret, const ConnectRequest& request,
                      const std::string& nonces) {
  return prove(secret, "Spire 1 answerer" + to_bytes(request) + nonces);
}

}  // namespace

std::string random_secret() {
  need_sodium();
  Nonce bytes = random_nonce();
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits.pop_back();  // the end of a C string
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

bool equal(const Proof& proof, std::string_view bytes) {
  return bytes.size() == proof.size() &&
         sodium_memcmp(proof.data(), bytes.data(), proof.size()) == 0;
}

void authenticate(Socket& socket, const std::string& secret, const ConnectRequest& request,
                  Deadline challenged, Deadline welcomed) {
  std::string nonces = bytes_of(random_nonce());
  send_frame(socket, {FrameKind::call, nonces}, challenged);
  Frame challenge = receive_frame(socket, challenged, max_handshake_bytes);
  bool fits = challenge.kind == FrameKind::challenge && challenge.text.size() == sizeof(Nonce);
  if (!fits) fail(Category::collective, "something else answers");
  nonces += challenge.text;
  std::string proof = to_bytes(request) + bytes_of(proof_of_client(secret, request, nonces));
  send_frame(socket, {FrameKind::proof, proof}, welcomed);
  Frame welcome = receive_frame(socket, welcomed, max_handshake_bytes);
  if (welcome.kind == FrameKind::denied) throw Denied();
  if (welcome.kind != FrameKind::welcome ||
      !equal(proof_of_server(secret, request, nonces), welcome.text))
    fail(Category::collective, "something else answers, which does not know the run's secret");
}

HandshakeServer::State HandshakeServer::advance(Socket& socket, const Credentials& credentials) {
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
    State state = answer(socket, credentials);
    if (state != State::incomplete) return state;
    reader_ = FrameReader(max_handshake_bytes);
  }
}

HandshakeServer::State HandshakeServer::answer_call(Socket& socket) {
  const Frame& frame = reader_.frame();
  if (frame.kind != FrameKind::call || frame.text.size() != sizeof(Nonce)) return State::foreign;
  called_ = true;
  std::string own = bytes_of(random_nonce());
  nonces_ = frame.text + own;
  send_frame(socket, {FrameKind::challenge, own}, std::chrono::steady_clock::now());
  return State::incomplete;
}

// Sends with a deadline of now: an answer fits the empty send buffer of a new connection. A client
// whose connection takes less is dropped.
HandshakeServer::State HandshakeServer::answer(Socket& socket, const Credentials& credentials) try {
  if (!called_) return answer_call(socket);
  auto now = std::chrono::steady_clock::now();
  const Frame& frame = reader_.frame();
  if (frame.kind != FrameKind::proof || frame.text.size() != sizeof(RequestBytes) + sizeof(Proof))
    return State::foreign;
  auto request = read_request(std::string_view(frame.text).substr(0, sizeof(RequestBytes)));
  auto proof = std::string_view(frame.text).substr(sizeof(RequestBytes));
  if (!request || !equal(proof_of_client(credentials.secret, *request, nonces_), proof)) {
    send_frame(socket, {FrameKind::denied, ""}, now);
    return State::denied;
  }
  // It knows the secret, so a rank or run that does not match is a mistake: a stale address.
  bool other_run = request->kind == ConnectRequest::Kind::peer && request->run != credentials.run;
  if (request->to != credentials.rank || other_run) return State::foreign;
  request_ = *request;
  auto own = proof_of_server(credentials.secret, request_, nonces_);
  send_frame(socket, {FrameKind::welcome, bytes_of(own)}, now);
  return State::accepted;
} catch (const Error&) {
  return State::closed;
}

}  // namespace spire::inline process
