#include "engine/process/frame.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include "engine/base/fail.h"

namespace spire {
namespace {

// No other protocol begins with these bytes; the last two are the version of the frames.
constexpr char magic[8] = {'S', 'p', 'i', 'r', 'e', '\0', 'j', '4'};

struct Header {
  char magic[8];
  uint32_t kind;
  uint32_t length;  // bytes of text
};

std::optional<Header> read_header(const char* bytes, uint32_t max_bytes) {
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  bool ours = std::memcmp(header.magic, magic, sizeof magic) == 0 &&
              header.kind <= static_cast<uint32_t>(FrameKind::control) &&
              header.length <= max_bytes;
  return ours ? std::optional(header) : std::nullopt;
}

}  // namespace

std::string to_bytes(const Frame& frame) {
  require(frame.text.size() <= max_frame_bytes, "a frame of {} bytes", frame.text.size());
  Header header;
  std::copy_n(magic, sizeof magic, header.magic);
  header.kind = static_cast<uint32_t>(frame.kind);
  header.length = static_cast<uint32_t>(frame.text.size());
  return bytes_of(header) + frame.text;
}

void send_frame(Socket& socket, const Frame& frame, Deadline deadline) {
  std::string bytes = to_bytes(frame);
  socket.send_all(bytes.data(), bytes.size(), deadline);
}

Frame receive_frame(Socket& socket, Deadline deadline, uint32_t max_bytes) {
  char bytes[sizeof(Header)];
  socket.receive_all(bytes, sizeof bytes, deadline);
  auto header = read_header(bytes, max_bytes);
  if (!header) fail(Category::collective, "the other end is not a process of this build of Spire");
  Frame frame{static_cast<FrameKind>(header->kind), std::string(header->length, '\0')};
  socket.receive_all(frame.text.data(), frame.text.size(), deadline);
  return frame;
}

// Reads the header, then the text, each of which may arrive in several parts.
FrameReader::State FrameReader::read(const Socket& socket) {
  if (wanted_ == 0) wanted_ = sizeof(Header);
  for (;;) {
    char buffer[4096];
    // Never more than the frame lacks: on a data connection the bytes behind it are the group's.
    size_t room = std::min(sizeof buffer, wanted_ - bytes_.size());
    ssize_t received = recv(socket.descriptor(), buffer, room, 0);
    if (received < 0 && errno == EINTR) continue;  // a signal
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::incomplete;
    if (received <= 0) {
      error_ = received < 0 ? errno : 0;
      return State::closed;
    }
    bytes_.append(buffer, static_cast<size_t>(received));
    if (bytes_.size() < wanted_) continue;
    if (!in_text_) {
      auto header = read_header(bytes_.data(), max_bytes_);
      if (!header) return State::foreign;
      frame_.kind = static_cast<FrameKind>(header->kind);
      wanted_ = header->length;
      in_text_ = true;
      bytes_.clear();
    }
    // Also right behind the header, for a frame without text.
    if (bytes_.size() == wanted_) {
      frame_.text = std::move(bytes_);
      return State::whole;
    }
  }
}

}  // namespace spire
