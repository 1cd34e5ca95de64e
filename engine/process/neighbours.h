// Connections between two ranks that know each other's Hello.
#pragma once
#include <vector>

#include <spire/process/hello.h>
#include <spire/process/reception.h>

namespace spire {

// An end of waiting, and how to speak of it.
struct Patience {
  explicit Patience(double limit);
  double seconds;
  Deadline end;
};
std::chrono::steady_clock::duration seconds_of(double seconds);

// Tries the addresses of `target` until one leads to it, and each has proved to the other that it
// knows the secret. Throws Error(collective) naming both ranks and the addresses.
Socket connect_to_rank(const Hello& self, const Hello& target, const std::string& secret,
                       Patience patience);

// Waits for connect_to_rank() of all ranks from `first` on; by rank, those below `first` empty.
// Throws Error(collective) naming the ranks that did not come.
std::vector<Socket> accept_ranks(Reception& reception, const std::vector<Hello>& table, int first,
                                 Patience patience);

// "ranks 2, 3 of 4 did not connect to WHERE within 300 s: ...", those whose place in `come` is
// false.
std::string not_come(const std::vector<bool>& come, const std::string& where, double seconds,
                     const Reception& reception);

}  // namespace spire
