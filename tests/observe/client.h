// A browser, as far as tests need one.
#pragma once
#include <chrono>
#include <string>
#include <sys/socket.h>

#include <poll.h>

#include "engine/process/socket.h"

namespace spire {

inline Deadline in_a_minute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

// Reads until the server closes the connection.
inline std::string read_all(Socket& socket) {
  std::string text, part(1 << 20, '\0');
  pollfd wait = {socket.descriptor(), POLLIN, 0};
  for (;;) {
    poll(&wait, 1, 60000);
    ssize_t got = recv(socket.descriptor(), part.data(), part.size(), 0);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

// Returns the whole answer, with its head.
inline std::string ask(int port, const std::string& path, const std::string& method = "GET",
                       const std::string& host = "localhost") {
  Socket socket = connect_to(loopback_address, port, in_a_minute());
  std::string request =
      method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  socket.send_all(request.data(), request.size(), in_a_minute());
  return read_all(socket);
}

inline std::string body_of(const std::string& answer) {
  size_t end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : answer.substr(end + 4);
}

}  // namespace spire
