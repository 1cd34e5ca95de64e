// The output of a run: its directory with config.yaml, which may be lost while the run goes on.
#pragma once
#include <atomic>
#include <filesystem>
#include <string>

#include "engine/run/run_directory.h"
#include "engine/run/run_setup.h"

namespace spire::inline run {

class RunOutput {
 public:
  // directory: null where this process writes no files. All outlive this.
  RunOutput(RunDirectory* directory, const RunSetup& setup, const RunOptions& options,
            Observer& observer)
      : directory_(directory), setup_(setup), options_(options), observer_(observer) {}

  // Whether this process writes files, and can. Any thread.
  bool is_writable() const { return directory_ != nullptr && writable_; }

  // Takes the directory for this run: continues the run in it, or begins a new one, for which
  // earlier files are deleted where the options say so. Throws Error(config) as RunDirectory does.
  void begin();
  // Writes config.yaml. Warns of a file system without locks.
  void write_config();
  std::filesystem::path folder(const std::string& name) { return directory_->folder(name); }

  // Makes the directory again where somebody has removed or replaced it; returns whether it was. It
  // is told at once, and at the end by the exit code. Throws Error(checkpoint) where it cannot be
  // made. step: of the run, for the message.
  bool restore(int64_t step);

  // The first loss of files, as a sentence; empty: none.
  const std::string& lost() const { return lost_; }

 private:
  void write_config_file(Category category) const;

  RunDirectory* directory_;
  const RunSetup& setup_;
  const RunOptions& options_;
  Observer& observer_;
  std::atomic<bool> writable_ = true;  // read by the checkpoint writer's thread, too
  std::string lost_;
};

}  // namespace spire::inline run
