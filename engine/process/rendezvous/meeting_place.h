// Where rank 0 listens for those who join without MPI, and how the others find that out: it is what
// the launcher named, or what rank 0 has put into torchrun's store.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/launch.h>

#include "engine/process/rendezvous/interface.h"
#include "engine/process/socket.h"

namespace spire::inline process {

struct MeetingPlace {
  std::vector<std::string> addresses;  // to be tried in turn
  int port = 0;
  std::string secret;  // of the run
};

// One line without its end; the secret is one word.
std::string to_text(const MeetingPlace& place);
std::optional<MeetingPlace> read_place(const std::string& text);

// Rank 0's: listens, and makes the secret known to who may know it.
struct OpenPlace {
  Interface interface;
  Listener listener;
  std::string secret;
};
OpenPlace open_place(const Launch& launch, Deadline deadline);

// The others'. In a store the place may be that of an attempt that has ended, until rank 0 comes:
// it has to be asked for again. Throws Error(collective) when there is none yet.
MeetingPlace find_place(const Launch& launch, Deadline deadline);

// "10.9.0.1:29500", or "torchrun's store at 10.9.0.1:29500": for messages.
std::string described_place(const Launch& launch);

}  // namespace spire::inline process
