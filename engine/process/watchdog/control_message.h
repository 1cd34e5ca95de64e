// What the watches of two ranks say to each other, and its form on the wire:
//   frame = length of what follows (u32), kind (u8), payload.  Integers are little-endian, a text
//   is its length (u32) and its bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire::inline process {

struct ControlMessage {
  enum class Kind : uint8_t {
    beat = 1,  // period, rows: sign of life; what the sender's threads are at
    failure,   // to rank 0: a rank failed
    verdict,   // from rank 0: the run failed, of this
    bye,       // to rank 0: this rank is done
    farewell,  // from rank 0: all ranks are done
    heard,     // to rank 0: verdict or farewell has arrived
  };
  Kind kind = Kind::beat;
  double period = 1;  // seconds; the next beat comes that soon
  std::vector<PhaseRow> rows;
  Failure failure;  // of failure and verdict
};

// The largest frame; longer texts are cut to fit.
inline constexpr size_t kMaxFrameBytes = size_t{4} << 20;

std::string encode(const ControlMessage& message);  // a whole frame

// Puts messages together from the bytes as they come.
class FrameReader {
 public:
  void append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole message. Throws Error(collective) when the bytes are no frame: nothing that
  // comes after can be understood then.
  std::optional<ControlMessage> next();

 private:
  std::string buffer_;
  size_t begin_ = 0;  // of what is not yet read
};

}  // namespace spire::inline process
