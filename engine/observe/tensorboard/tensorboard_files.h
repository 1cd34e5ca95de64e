// Writes what metrics.jsonl has as event files for TensorBoard: the same tags, numbers that are not
// finite included, and the config as a text: as it was given, with `auto` for what a run chooses.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "engine/observe/tensorboard/event_file.h"

namespace spire {

// Each start of a run writes a new file. The file of a resumed run cancels the steps after its
// checkpoint, so that none is shown twice.
//
// A thread of its own writes, so that a slow disk delays no step. TensorBoard's view is no result
// of the run: if a file cannot be made, or points cannot be written, a warning says so once, the
// run goes on, and its exit code stays as it is (lost() is empty).
class TensorBoardFiles : public Observer {
 public:
  using Warn = std::function<void(std::string_view)>;

  // config: YAML. The thread runs on the cores that the calling thread may use.
  TensorBoardFiles(std::filesystem::path folder, std::string config, Warn warn,
                   WallClock now = wall_time);
  ~TensorBoardFiles() override;  // writes what is left

  void on_start(const StartInfo& start) override;  // makes the folder
  void on_step(const StepReport& step) override;   // steps with `record`
  void on_eval(const EvalReport& eval) override;
  void on_test(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_end(const RunSummary& summary) override;

 private:
  void open(const StartInfo& start);  // throws Error if the file cannot be made
  void add(int64_t step, const Scalars& scalars);
  void add_evaluation(const std::string& data, const EvalReport& eval);
  void write_frames();  // the thread
  void finish();
  void say_problem();
  double now() const;

  const std::filesystem::path folder_;
  const std::string config_;
  const Warn warn_;
  const WallClock now_;
  const std::vector<int> cores_;
  std::vector<std::string> device_prefixes_;  // of tags: "device/cuda:0/"
  std::optional<EventFile> file_;  // none: it could not be made; the thread's, once it runs
  bool warned_ = false;

  std::mutex mutex_;  // of the following
  std::condition_variable changed_;
  std::string pending_;  // frames to write
  std::string problem_;  // why frames are missing
  bool closing_ = false;

  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace spire
