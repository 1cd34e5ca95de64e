// The output directory of a run. One run uses it at a time, and deletes only files that runs wrote.
#pragma once
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "engine/run/run_setup.h"

namespace spire {

// Returns whether a directory contains anything but the record file of runs; false if it does not
// exist. Throws Error(config) if the system refuses to list it.
bool holds_something(const std::filesystem::path& directory);

// Returns whether the run has written a checkpoint, so that --resume auto goes on from it. Throws
// Error(checkpoint) if the folder cannot be listed.
bool has_checkpoint(const std::filesystem::path& directory);

class RunDirectory {
 public:
  static constexpr const char* record_name = ".spire_run";

  // Makes the directory if needed and locks it without waiting. Throws Error(config) if another run
  // has locked it (the message names that run), or if it cannot be made or used.
  explicit RunDirectory(std::filesystem::path path);
  ~RunDirectory();  // restores the directory as it was found, unless a run has begun
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool locked() const { return locked_; }  // false on a file system without locks

  // Begins a new run. If the directory is not empty, deletes the files of earlier runs if `replace`
  // is set and runs have written there, else throws Error(config).
  void begin(bool replace);
  // Continues the run that has a checkpoint here. go_on() and begin() throw Error(config), before
  // they change anything, if metrics.jsonl or another file to be written is not a regular file.
  void go_on();

  // Returns the path of a folder in the directory, made if needed. Throws Error(config).
  std::filesystem::path folder(const std::string& name);

  // Observers write event files into the folder tensorboard, which may be a link to a folder that
  // other programs share. expect_event_files() makes the folder. record_event_files() records the
  // event files that this process has made since as the run's; a later run may delete them. Throw
  // Error(config).
  void expect_event_files();
  void record_event_files();

  // Records that the run is about to write a checkpoint of that name, as "step_00000010.h5". Only
  // while no other thread calls wrote_checkpoint(). A full disk is no error here.
  void expect_checkpoint(const std::string& name);
  // Returns whether a run has recorded this checkpoint. Checkpoints from before runs recorded them
  // count as recorded, unless their folder is a link to one elsewhere.
  bool wrote_checkpoint(const std::string& name) const { return checkpoints_.contains(name); }

  // Call it after begin() or go_on(). If the directory or its folders were removed, moved or
  // replaced, makes and locks them again and returns a sentence about that, else "". Throws
  // Error(checkpoint) if it fails, for example because another run has the directory now.
  std::string restore_if_lost();

 private:
  void restore_as_found() noexcept;
  void take_record();
  std::string lost_folder() const;
  void refuse_record_of_another_run();
  void check_names() const;
  void open_record();
  void lock_record();
  void read_record(const std::string& text);
  void take_unrecorded_checkpoints();
  std::string record_text() const;
  void write_record();
  bool write_text(const std::string& text) noexcept;
  void delete_files_of_runs();
  std::filesystem::path event_folder() const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  int record_ = -1;  // descriptor
  bool locked_ = true;
  int folders_made_here_ = 0;  // number of folders (the directory, parents) that it made
  bool begun_ = false;
  bool used_by_runs_ = false;           // some run has begun here
  std::set<std::string> made_;          // folders, by runs
  std::set<std::string> wrote_;         // event files of runs, by name
  std::set<std::string> checkpoints_;   // of runs, by name
  bool names_checkpoints_ = false;      // the record names them; those of earlier programs do not
  std::set<std::string> earlier_;       // event files that are not this run's
  std::map<std::string, int> folders_;  // those of this run: descriptors
  std::string found_text_;              // the record's text as it was found
  bool found_text_read_ = false;  // found_text_ could be read: an empty one is a record made here
  std::string holder_;            // this process: "host, process 123, since 2026-11-22T18:00:00Z"
};

// The output directory of a run and its config.yaml, both made again if they are lost meanwhile.
class RunOutput {
 public:
  // directory: null if this process writes no files. All arguments outlive this.
  RunOutput(RunDirectory* directory, const RunSetup& setup, const RunOptions& options,
            Observer& observer)
      : directory_(directory), setup_(setup), options_(options), observer_(observer) {}

  bool is_writable() const { return directory_ != nullptr && writable_; }  // any thread

  void begin();         // begins or continues a run; throws as RunDirectory does
  void write_config();  // also warns if the file system has no locks
  std::filesystem::path folder(const std::string& name) { return directory_->folder(name); }
  void expect_event_files() { directory_->expect_event_files(); }
  void record_event_files() { directory_->record_event_files(); }
  void expect_checkpoint(const std::string& name) { directory_->expect_checkpoint(name); }
  bool wrote_checkpoint(const std::string& name) const {
    return directory_ != nullptr && directory_->wrote_checkpoint(name);
  }

  // Restores a lost directory and warns. Returns whether it was lost. Throws Error(checkpoint).
  bool restore(int64_t step);

  const std::string& lost() const { return lost_; }  // a sentence about the first loss, or empty

 private:
  std::string config_text() const;
  void write_config_file(Category category) const;

  RunDirectory* directory_;
  const RunSetup& setup_;
  const RunOptions& options_;
  Observer& observer_;
  std::atomic<bool> writable_ = true;  // also read by the checkpoint writer's thread
  std::string lost_;
};

}  // namespace spire
