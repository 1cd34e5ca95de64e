#include "engine/process/frame.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/socket.h>

#include <spire/error.h>

namespace spire::inline process {
namespace {

// Bytes that no other protocol begins with; the last ones change when frames do.
constexpr char magic[8] = {'S', 'p', 'i', 'r', 'e', '\0', 'j', '2'};
// On the wire as in memory: the machines of a run agree on byte order, as their tensors do.
struct Header {
  char magic[8];
  uint32_t kind;
  uint32_t length;  // bytes of text
};

std::optional<Header> read_header(const char* bytes, uint32_t most) {
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  bool ours = std::memcmp(header.magic, magic, sizeof magic) == 0 &&
              header.kind <= static_cast<uint32_t>(FrameKind::refusal) && header.length <= most;
  return ours ? std::optional(header) : std::nullopt;
}

}  // namespace

void send_frame(Socket& socket, const Frame& frame, Deadline deadline) {
  Header header;
  std::copy_n(magic, sizeof magic, header.magic);
  header.kind = static_cast<uint32_t>(frame.kind);
  header.length = static_cast<uint32_t>(frame.text.size());
  require(frame.text.size() <= kLongestFrameText, "a frame of {} bytes", frame.text.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += frame.text;
  socket.send_all(bytes.data(), bytes.size(), deadline);
}

Frame receive_frame(Socket& socket, Deadline deadline, uint32_t most) {
  char bytes[sizeof(Header)];
  socket.receive_all(bytes, sizeof bytes, deadline);
  auto header = read_header(bytes, most);
  if (!header) fail(Category::collective, "the other end is not a process of this build of Spire");
  Frame frame{static_cast<FrameKind>(header->kind), std::string(header->length, '\0')};
  socket.receive_all(frame.text.data(), frame.text.size(), deadline);
  return frame;
}

FrameReader::State FrameReader::read(const Socket& socket) {
  if (wanted_ == 0) wanted_ = sizeof(Header);
  for (;;) {
    char buffer[4096];
    // Never more than the frame still lacks: what follows is not ours.
    size_t room = std::min(sizeof buffer, wanted_ - bytes_.size());
    ssize_t received = recv(socket.descriptor(), buffer, room, 0);
    if (received == 0) return State::closed;
    if (received < 0) {
      bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      return later ? State::incomplete : State::closed;
    }
    bytes_.append(buffer, static_cast<size_t>(received));
    if (bytes_.size() < wanted_) continue;
    if (!in_text_) {
      auto header = read_header(bytes_.data(), most_);
      if (!header) return State::foreign;
      frame_.kind = static_cast<FrameKind>(header->kind);
      wanted_ = header->length;
      in_text_ = true;
      bytes_.clear();
    }
    if (bytes_.size() == wanted_) {
      frame_.text = std::move(bytes_);
      return State::whole;
    }
  }
}

}  // namespace spire::inline process
