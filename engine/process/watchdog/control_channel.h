// A control connection: messages in both directions, without waiting. One thread.
#pragma once
#include <string>
#include <vector>

#include "engine/process/frame.h"
#include "engine/process/watchdog/control_message.h"

namespace spire::inline process {

class ControlChannel {
 public:
  explicit ControlChannel(Socket socket) : socket_(std::move(socket)) {}

  // Appends the messages that have arrived. open() may be false afterwards: messages before the end
  // of the connection are still delivered.
  void receive(std::vector<ControlMessage>& messages);
  // Sends, or queues what the peer does not take yet. Drops a heartbeat behind a queue: a later one
  // tells more. Closes the connection if the peer leaves too much unread.
  void send(const ControlMessage& message);
  void flush();

  bool open() const { return static_cast<bool>(socket_); }
  // Returns how the connection ended: "no longer receives messages", "cannot be reached any more
  // (No route to host)", ...; empty while it is open.
  const std::string& ending() const { return ending_; }
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

}  // namespace spire::inline process
