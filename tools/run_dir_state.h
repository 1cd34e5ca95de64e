// What a run's directory tells of how far the run came: whether it may be gone on with there.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace spire::tool {

class RunDirState {
 public:
  // To be made before the run is started.
  explicit RunDirState(std::filesystem::path output);

  // The run has taken the directory over; before that, what lies there is another run's.
  bool begun() const;
  // One that --resume auto would look at.
  bool has_checkpoint() const;

 private:
  struct Stamp {
    ino_t file;
    int64_t seconds, nanoseconds;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> config_stamp() const;

  std::filesystem::path output_;
  bool was_empty_ = false;
  std::optional<Stamp> before_;
};

// The options that say what becomes of what lies in the run's directory.
struct TakeUp {
  std::optional<std::string> resume;  // --resume
  bool overwrite = false;             // --overwrite
  bool operator==(const TakeUp&) const = default;
};
// Those for a run that is started again. `given` holds until the run has begun, for what lies there
// before is another run's, and must neither be gone on with nor deleted.
TakeUp take_up_again(const TakeUp& given, const RunDirState& traces);

}  // namespace spire::tool
