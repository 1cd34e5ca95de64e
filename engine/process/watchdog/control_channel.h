// One control connection: messages in both directions, never waiting. One thread.
#pragma once
#include <string>
#include <vector>

#include "engine/process/socket.h"
#include "engine/process/watchdog/control_message.h"

namespace spire::inline process {

class ControlChannel {
 public:
  explicit ControlChannel(Socket socket) : socket_(std::move(socket)) {}

  // Adds the messages that are there to `messages`. After it, open() may be false: what came before
  // the end has been delivered.
  void receive(std::vector<ControlMessage>& messages);
  // Sends now, or keeps what the peer does not yet take. A beat is dropped when older messages
  // still wait: a later one says more. A peer that leaves too much unread loses the connection.
  void send(const ControlMessage& message);
  void flush();

  bool open() const { return static_cast<bool>(socket_); }
  // Once closed: "ended without a word (killed?)", "is cut off (No route to host)", ...
  const std::string& ending() const { return ending_; }
  bool backlog() const { return open() && !outgoing_.empty(); }
  int descriptor() const { return socket_.descriptor(); }

 private:
  void end(const std::string& how);
  void note_error(int error);

  Socket socket_;
  FrameReader reader_;
  std::string outgoing_;
  bool deaf_ = false;  // a send failed: what has arrived is still read
  std::string ending_;
};

}  // namespace spire::inline process
