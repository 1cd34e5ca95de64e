#include "engine/process/watchdog/control_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

#include "engine/process/json_fields.h"

namespace spire {
namespace {

using Json = nlohmann::json;
using Kind = ControlMessage::Kind;

constexpr size_t max_name_bytes = 256;
constexpr size_t max_text_bytes = size_t{64} << 10;
constexpr size_t max_status_bytes = max_control_bytes / 2;
constexpr size_t max_backlog_bytes = 2 * max_control_bytes;

// In the order of the enum.
constexpr std::array<std::string_view, 6> kind_names = {"heartbeat", "failure",  "abort",
                                                        "done",      "all_done", "ack"};

bool has_failure(Kind kind) {
  return kind == Kind::failure || kind == Kind::abort;
}

Json to_fields(const PhaseRow& row) {
  return {row.thread.substr(0, max_name_bytes), static_cast<int>(row.phase), row.detail, row.step,
          row.seconds};
}

PhaseRow read_row(const Json& fields) {
  JsonFields::check(fields.is_array() && fields.size() == 5 && fields[0].is_string(), "a row");
  PhaseRow row;
  row.thread = fields[0].get<std::string>();
  int phase = JsonFields::integer_in(fields[1], "a phase");
  JsonFields::check(phase >= 0 && phase <= static_cast<int>(Phase::setup), "a phase");
  row.phase = static_cast<Phase>(phase);
  row.detail = JsonFields::integer_in<int64_t>(fields[2], "a detail");
  row.step = JsonFields::integer_in<int64_t>(fields[3], "a step");
  row.seconds = JsonFields::seconds_in(fields[4], "a time");
  return row;
}

Json to_fields(const Failure& failure, size_t max_table_bytes) {
  return {{"category", static_cast<int>(failure.category)},
          {"rank", failure.rank},
          {"consequence", failure.consequence},
          {"text", failure.text.substr(0, max_text_bytes)},
          {"table", failure.table.substr(0, max_table_bytes)}};
}

Failure read_failure(const Json& object) {
  JsonFields fields(object, 5);
  Failure failure;
  failure.category = static_cast<Category>(fields.integer("category"));
  failure.rank = fields.integer("rank");
  failure.consequence = fields.flag("consequence");
  failure.text = fields.text("text");
  failure.table = fields.text("table");
  return failure;
}

Kind read_kind(const Json& object) {
  bool named = object.is_object() && object.contains("kind") && object["kind"].is_string();
  JsonFields::check(named, "its kind");
  auto found = std::ranges::find(kind_names, object["kind"].get<std::string>());
  JsonFields::check(found != kind_names.end(), "its kind");
  return static_cast<Kind>(found - kind_names.begin());
}

}  // namespace

// {"kind":"heartbeat","period":1,"rows":[["cpu:0",5,0,37,10.25]]}: thread, phase, detail, step and
// seconds of a row. {"kind":"abort","failure":{...}}. {"kind":"done"}.
std::string to_json(const ControlMessage& message) {
  Json object = {{"kind", kind_names[static_cast<size_t>(message.kind)]}};
  if (message.kind == Kind::heartbeat) {
    object["period"] = message.period;
    Json& rows = object["rows"] = Json::array();
    for (const PhaseRow& row : message.rows) rows.push_back(to_fields(row));
  }
  std::string text;
  // An escape has up to six characters for one byte. A table that grows too long by that is cut
  // again: the text, which names the cause, always fits.
  for (size_t table = max_status_bytes;; table /= 2) {
    if (has_failure(message.kind)) object["failure"] = to_fields(message.failure, table);
    text = to_message(object);
    if (text.size() <= max_control_bytes || table == 0 || !has_failure(message.kind)) break;
  }
  require(text.size() <= max_control_bytes, "a control message of {} bytes", text.size());
  return text;
}

ControlMessage read_control_message(std::string_view json) {
  Json object = parse_message(json);
  ControlMessage message;
  message.kind = read_kind(object);
  bool heartbeat = message.kind == Kind::heartbeat;
  JsonFields fields(object, heartbeat ? 3 : has_failure(message.kind) ? 2 : 1);
  if (heartbeat) {
    message.period = fields.seconds("period");
    for (const Json& row : fields.list("rows")) message.rows.push_back(read_row(row));
  }
  if (has_failure(message.kind)) message.failure = read_failure(fields.object("failure"));
  return message;
}

// The first reason counts: a failed send says more than the end that follows it.
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
  // A later heartbeat has newer phases.
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

}  // namespace spire
