// Control messages between the watchdogs of two ranks, and the connection that carries them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spire/world.h>

#include "engine/process/frame.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire {

struct ControlMessage {
  enum class Kind : uint8_t {
    heartbeat,  // with `period` and `rows`: a sign of life and the sender's phases
    failure,    // to rank 0: a rank failed
    abort,      // from rank 0: the run failed, for this reason
    done,       // to rank 0: this rank is done
    all_done,   // from rank 0: all ranks are done
    ack,        // to rank 0: abort or all_done has arrived
  };
  Kind kind = Kind::heartbeat;
  double period = 1;  // of a heartbeat: seconds until the next one
  std::vector<PhaseRow> rows;
  Failure failure;  // set in failure and abort
};

inline constexpr size_t max_control_bytes = size_t{4} << 20;  // of a message's JSON

// Returns JSON of at most max_control_bytes: cuts names and the texts of a failure; throws
// Error(unexpected) for a heartbeat with too many rows.
std::string to_json(const ControlMessage& message);

// Throws Error(collective) for anything that to_json() does not write.
ControlMessage read_control_message(std::string_view json);

// A control connection, for messages in both directions. No function waits. Used by one thread.
class ControlChannel {
 public:
  explicit ControlChannel(Socket socket) : socket_(std::move(socket)) {}

  // Appends the messages that have arrived. open() may be false afterwards: messages before the end
  // of the connection are still delivered.
  void receive(std::vector<ControlMessage>& messages);
  // Sends the message, or queues what the peer does not take yet; drops a heartbeat if there is a
  // queue. Closes the connection if the queue becomes too long.
  void send(const ControlMessage& message);
  void flush();

  bool open() const { return static_cast<bool>(socket_); }
  const std::string& ending() const { return ending_; }  // "no longer receives messages", ...
  bool backlog() const { return open() && !outgoing_.empty(); }
  int descriptor() const { return socket_.descriptor(); }

 private:
  void end(const std::string& how);
  void note_error(int error);
  void receive_all(std::vector<ControlMessage>& messages);

  Socket socket_;
  FrameReader reader_{max_control_bytes};
  std::string outgoing_;
  bool send_failed_ = false;  // messages that have arrived are still read
  std::string ending_;
};

}  // namespace spire
