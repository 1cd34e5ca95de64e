#include "engine/process/watchdog/control_message.h"

#include <bit>
#include <cmath>

namespace spire::inline process {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxTextBytes = size_t{64} << 10;
constexpr size_t kMaxTableBytes = kMaxFrameBytes / 2;

void put(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}
void put(std::string& out, double value) {
  put(out, std::bit_cast<uint64_t>(value), 8);
}
void put(std::string& out, std::string_view text, size_t most) {
  text = text.substr(0, most);
  put(out, text.size(), 4);
  out.append(text);
}

// Takes values off the front of a payload; throws when it is too short.
class Payload {
 public:
  explicit Payload(std::string_view rest) : rest_(rest) {}

  uint64_t integer(size_t bytes) {
    std::string_view from = take(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    return value;
  }
  int64_t signed_integer() { return static_cast<int64_t>(integer(8)); }
  double seconds() {
    auto value = std::bit_cast<double>(integer(8));
    check(std::isfinite(value) && value >= 0, "a time");
    return value;
  }
  std::string text() { return std::string(take(integer(4))); }
  void end() const { check(rest_.empty(), "a length"); }
  static void check(bool holds, std::string_view what) {
    if (!holds) fail(Category::collective, "a control message is broken: {}", what);
  }

 private:
  std::string_view take(size_t bytes) {
    check(bytes <= rest_.size(), "it is too short");
    std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
};

void put_row(std::string& out, const PhaseRow& row) {
  put(out, row.thread, kMaxNameBytes);
  put(out, static_cast<uint64_t>(row.phase), 1);
  put(out, static_cast<uint64_t>(row.detail), 8);
  put(out, static_cast<uint64_t>(row.step), 8);
  put(out, row.seconds);
}

PhaseRow take_row(Payload& payload) {
  PhaseRow row;
  row.thread = payload.text();
  uint64_t phase = payload.integer(1);
  Payload::check(phase <= static_cast<uint64_t>(Phase::checkpoint), "a phase");
  row.phase = static_cast<Phase>(phase);
  row.detail = payload.signed_integer();
  row.step = payload.signed_integer();
  row.seconds = payload.seconds();
  return row;
}

void put_failure(std::string& out, const Failure& failure) {
  put(out, static_cast<uint64_t>(failure.category), 4);
  put(out, static_cast<uint64_t>(failure.rank), 4);
  put(out, failure.consequence, 1);
  put(out, failure.text, kMaxTextBytes);
  put(out, failure.table, kMaxTableBytes);
}

Failure take_failure(Payload& payload) {
  Failure failure;
  failure.category = static_cast<Category>(static_cast<int32_t>(payload.integer(4)));
  failure.rank = static_cast<int32_t>(payload.integer(4));
  failure.consequence = payload.integer(1) != 0;
  failure.text = payload.text();
  failure.table = payload.text();
  return failure;
}

bool has_failure(ControlMessage::Kind kind) {
  return kind == ControlMessage::Kind::failure || kind == ControlMessage::Kind::verdict;
}

ControlMessage decode(std::string_view frame) {
  Payload payload(frame);
  uint64_t kind = payload.integer(1);
  Payload::check(kind >= 1 && kind <= static_cast<uint64_t>(ControlMessage::Kind::heard), "a kind");
  ControlMessage message;
  message.kind = static_cast<ControlMessage::Kind>(kind);
  if (message.kind == ControlMessage::Kind::beat) {
    message.period = payload.seconds();
    for (uint64_t left = payload.integer(4); left > 0; --left)
      message.rows.push_back(take_row(payload));
  }
  if (has_failure(message.kind)) message.failure = take_failure(payload);
  payload.end();
  return message;
}

}  // namespace

std::string encode(const ControlMessage& message) {
  std::string body;
  put(body, static_cast<uint64_t>(message.kind), 1);
  if (message.kind == ControlMessage::Kind::beat) {
    put(body, message.period);
    put(body, message.rows.size(), 4);
    for (const PhaseRow& row : message.rows) put_row(body, row);
  }
  if (has_failure(message.kind)) put_failure(body, message.failure);
  require(body.size() <= kMaxFrameBytes, "a control message of {} bytes", body.size());
  std::string frame;
  put(frame, body.size(), kLengthBytes);
  return frame + body;
}

std::optional<ControlMessage> FrameReader::next() {
  std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kLengthBytes) return {};
  uint64_t length = Payload(rest).integer(kLengthBytes);
  Payload::check(length >= 1 && length <= kMaxFrameBytes, "a length");
  if (rest.size() < kLengthBytes + length) return {};
  ControlMessage message = decode(rest.substr(kLengthBytes, length));
  begin_ += kLengthBytes + length;
  // What is read goes once there is as much of it as is left: each byte moves once at most.
  if (begin_ * 2 >= buffer_.size()) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  return message;
}

}  // namespace spire::inline process
