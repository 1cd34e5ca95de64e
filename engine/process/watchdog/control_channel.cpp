#include "engine/process/watchdog/control_channel.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace spire::inline process {
namespace {

constexpr size_t kMaxBacklogBytes = 2 * kMaxFrameBytes;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

void ControlChannel::end(const std::string& how) {
  if (ending_.empty()) ending_ = how;
  outgoing_.clear();
  socket_ = Socket();
}

// A process that dies leaves a closed or a reset connection; other errors are the network's.
void ControlChannel::note_error(int error) {
  bool death = error == EPIPE || error == ECONNRESET;
  if (!death && ending_.empty())
    ending_ = fmt::format("cannot be reached any more ({})", strerror(error));
}

void ControlChannel::receive(std::vector<ControlMessage>& messages) try {
  char bytes[1 << 14];
  while (open()) {
    ssize_t received = recv(descriptor(), bytes, sizeof bytes, 0);
    int error = errno;
    if (received < 0 && error == EINTR) continue;
    if (received < 0 && would_block(error)) return;
    if (received <= 0) {
      if (received < 0) note_error(error);
      return end(
          "ended without an error message, so it was probably killed (see its log, or dmesg on its "
          "host)");
    }
    reader_.append({bytes, static_cast<size_t>(received)});
    while (auto message = reader_.next()) messages.push_back(std::move(*message));
  }
} catch (const Error&) {
  end("sent a broken control message");
}

void ControlChannel::send(const ControlMessage& message) {
  if (!open() || deaf_) return;
  if (message.kind == ControlMessage::Kind::beat && backlog()) return;
  outgoing_ += encode(message);
  flush();
  if (outgoing_.size() > kMaxBacklogBytes) end("no longer receives messages");
}

void ControlChannel::flush() {
  while (backlog()) {
    ssize_t sent = ::send(descriptor(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    int error = errno;
    if (sent >= 0) {
      outgoing_.erase(0, static_cast<size_t>(sent));
    } else if (error != EINTR) {
      if (would_block(error)) return;
      note_error(error);
      deaf_ = true;
      outgoing_.clear();
    }
  }
}

}  // namespace spire::inline process
