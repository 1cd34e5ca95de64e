#include "engine/process/watchdog/control_channel.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace spire::inline process {
namespace {

constexpr size_t max_backlog_bytes = 2 * max_control_bytes;

}  // namespace

// The first reason counts: a failed send tells more than the end that follows it.
void ControlChannel::end(const std::string& how) {
  if (ending_.empty()) ending_ = how;
  outgoing_.clear();
  socket_ = Socket();
}

// A process that dies leaves a closed or a reset connection; other errors are the network's.
void ControlChannel::note_error(int error) {
  bool death = error == 0 || error == EPIPE || error == ECONNRESET;
  if (!death && ending_.empty())
    ending_ = fmt::format("cannot be reached any more ({})", strerror(error));
}

void ControlChannel::receive(std::vector<ControlMessage>& messages) try {
  receive_all(messages);
} catch (const Error&) {
  end("sent a broken control message");
}

void ControlChannel::receive_all(std::vector<ControlMessage>& messages) {
  while (open()) {
    switch (reader_.read(socket_)) {
      case FrameReader::State::incomplete:
        return;
      case FrameReader::State::closed:
        note_error(reader_.error());
        return end(
            "ended without an error message, so it was probably killed (see its log, or dmesg on "
            "its host)");
      case FrameReader::State::foreign:
        fail(Category::collective, "not a frame");
      case FrameReader::State::whole:
        break;
    }
    if (reader_.frame().kind != FrameKind::control) fail(Category::collective, "another frame");
    messages.push_back(read_control_message(reader_.frame().text));
    reader_ = FrameReader(max_control_bytes);
  }
}

void ControlChannel::send(const ControlMessage& message) {
  if (!open() || send_failed_) return;
  if (message.kind == ControlMessage::Kind::heartbeat && backlog()) return;
  outgoing_ += to_bytes({FrameKind::control, to_json(message)});
  flush();
  if (outgoing_.size() > max_backlog_bytes) end("no longer receives messages");
}

void ControlChannel::flush() {
  while (backlog()) {
    ssize_t sent = ::send(descriptor(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    int error = errno;
    if (sent >= 0) {
      outgoing_.erase(0, static_cast<size_t>(sent));
    } else if (error != EINTR) {
      if (error == EAGAIN || error == EWOULDBLOCK) return;
      // Not the end yet: the peer's last message may lie in the receive buffer and name the cause.
      note_error(error);
      send_failed_ = true;
      outgoing_.clear();
    }
  }
}

}  // namespace spire::inline process
