// Where the lanes of a process meet. What any of them gave its stream before comes before what any
// gives its own later.
#pragma once
#include <memory>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/stream.h"

namespace spire::inline device {

class StreamBarrier {
 public:
  // streams: one a lane of the team; all outlive this.
  StreamBarrier(LaneTeam& team, std::vector<Stream*> streams);

  // REQUIRES: called by every lane, from inside LaneTeam::parallel(). Allocates nothing. Throws
  // BarrierBroken.
  void meet(int lane);

 private:
  LaneTeam& team_;
  std::vector<Stream*> streams_;
  // By turns: a lane may record the next meeting's while another still waits for this one's.
  std::vector<std::unique_ptr<Event>> events_[2];
  std::vector<size_t> turn_;  // one a lane
};

}  // namespace spire::inline device
