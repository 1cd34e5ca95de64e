// State of a run's directory: whether the run has begun there, and the options of its restart.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace spire::tool {

class RunDirState {
 public:
  // Records the directory's state; make it before the run starts.
  explicit RunDirState(std::filesystem::path output);

  // Returns whether the run has taken the directory over. Before that its files are another run's.
  bool begun() const;
  // Returns whether --resume auto would find a checkpoint.
  bool has_checkpoint() const;

 private:
  // Identity of config.yaml: a file that is written again has another inode or time.
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

// Options that decide about existing files in the run's directory.
struct ResumeOptions {
  std::optional<std::string> resume;  // --resume
  bool overwrite = false;             // --overwrite
  bool operator==(const ResumeOptions&) const = default;
};
// Returns the options of a restart. They are `given` until the run has begun: the files are another
// run's, and a restart must neither resume from them nor delete them.
ResumeOptions options_for_restart(const ResumeOptions& given, const RunDirState& state);

}  // namespace spire::tool
