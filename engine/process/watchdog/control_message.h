// Control messages between the watchdogs of two ranks, and their form as JSON: the text of a frame
// of FrameKind::control.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire::inline process {

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
  double period = 1;  // seconds until the next heartbeat
  std::vector<PhaseRow> rows;
  Failure failure;  // of failure and abort
};

inline constexpr size_t max_control_bytes = size_t{4} << 20;  // of JSON

// {"kind":"heartbeat","period":1,"rows":[["cpu:0",5,0,37,10.25]]}: thread, phase, detail, step and
// seconds of a row. {"kind":"abort","failure":{...}}. {"kind":"done"}. Names and texts of a
// failure are cut, so that its message has at most max_control_bytes; a heartbeat with more rows
// than fit is Error(unexpected).
std::string to_json(const ControlMessage& message);

// Throws Error(collective) for anything that to_json() does not write.
ControlMessage read_control_message(std::string_view json);

}  // namespace spire::inline process
