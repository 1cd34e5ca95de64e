// The output directory of a run. One run uses it at a time, and deletes only files that runs wrote.
#pragma once
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "engine/run/run_setup.h"

namespace spire::inline run {

class RunDirectory {
 public:
  static constexpr const char* record_name = ".spire_run";

  // Makes the directory if it does not exist, and locks it without waiting. Throws Error(config)
  // where another run has locked it, and names that run, or where it cannot be made or used.
  explicit RunDirectory(std::filesystem::path path);
  ~RunDirectory();  // leaves the directory as it was found, unless a run was begun
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool locked() const { return locked_; }  // false on a file system without locks

  // Begins a new run; `replace` deletes the files of earlier ones. Throws Error(config) where the
  // directory is not empty, without `replace` or where no run has written there.
  void begin(bool replace);
  // Continues the run whose checkpoint lies here. This and begin() throw Error(config), before they
  // change anything, where metrics.jsonl and the like are no regular files.
  void go_on();

  // Returns a folder (or link to one) for files of the run, made if needed. Throws Error(config).
  std::filesystem::path folder(const std::string& name);

  // Makes and locks the directory and its folders again where somebody removed, moved or replaced
  // them; cheap where not. Returns the loss as a sentence; empty: none. Throws Error(checkpoint)
  // where that fails, for example because another run has the directory now. After begin().
  std::string restore_if_lost();

 private:
  void restore_as_found() noexcept;
  void take_record();
  void refuse_record_of_another_run();
  void check_names() const;
  void open_record();
  void lock_record();
  void read_record(const std::string& text);
  void write_record();
  bool write_text(const std::string& text) noexcept;
  void delete_files_of_runs();
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  int record_ = -1;  // descriptor
  bool locked_ = true;
  int folders_made_here_ = 0;  // folders that this object made: the directory and parents of it
  bool begun_ = false;
  bool used_by_runs_ = false;           // some run has begun here
  std::set<std::string> made_;          // folders, by runs
  std::map<std::string, int> folders_;  // those of this run: descriptors
  std::string found_text_;              // the record's text as it was found
  bool found_text_read_ = false;  // found_text_ could be read: an empty one is a record made here
  std::string holder_;            // this process: "host, process 123, since 2026-11-22T18:00:00Z"
};

// Returns false for a directory that contains only the record, or does not exist.
bool holds_something(const std::filesystem::path& directory);

// The directory of one run and its config.yaml, which may be lost while the run goes on.
class RunOutput {
 public:
  // directory: null where this process writes no files. All references outlive this.
  RunOutput(RunDirectory* directory, const RunSetup& setup, const RunOptions& options,
            Observer& observer)
      : directory_(directory), setup_(setup), options_(options), observer_(observer) {}

  bool is_writable() const { return directory_ != nullptr && writable_; }  // any thread

  void begin();         // a new run, or continues the one there; throws as RunDirectory does
  void write_config();  // also warns of a file system without locks
  std::filesystem::path folder(const std::string& name) { return directory_->folder(name); }

  // Restores a lost directory and warns of it; returns whether it was lost. Throws
  // Error(checkpoint).
  bool restore(int64_t step);

  const std::string& lost() const { return lost_; }  // the first loss as a sentence; empty: none

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
