// Where processes come to: a listener that hears out all who come at a time, and lets in who knows
// the run's secret. A stranger keeps nobody waiting, learns nothing, and holds no place for long.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/socket.h"

namespace spire::inline process {

class Acceptor {
 public:
  struct Limits {
    size_t callers = 64;                     // who have not yet proved themselves, at a time
    std::chrono::milliseconds time{10'000};  // for each of them
  };
  Acceptor(Listener listener, Badge badge, Limits limits);

  const Badge& badge() const { return badge_; }

  struct Visitor {
    Socket socket;
    Route route;
    std::string hello;  // of one who joins
  };
  // The next one that has proved itself and said all it has to say; nothing when the deadline
  // passed, however many come. Throws Error(device) where not one can be taken (Listener::accept).
  std::optional<Visitor> next(Deadline deadline);

  // What became of the others: " (turned away: 2 connections that did not know ...)"; empty when
  // there were none.
  std::string turned_away() const;

 private:
  struct Caller {
    Socket socket;
    Deadline end;
    Introduction introduction;
    bool known = false;
    FrameReader hello{kLongestHello};
  };
  static constexpr uint32_t kLongestHello = 1 << 20;  // with the cores of a large machine

  enum class State { waits, whole, gone };
  State hear(Caller& caller);
  State introduce(Caller& caller);
  std::optional<Visitor> hear_all();
  void wait(Deadline deadline);
  void admit();
  bool take_one();
  void drop_late();
  void make_room();
  void give_one_up();

  Listener listener_;
  const Badge badge_;
  const Limits limits_;
  std::vector<Caller> callers_;  // who came first stands first
  int silent_ = 0, foreign_ = 0, denied_ = 0;
};

}  // namespace spire::inline process
