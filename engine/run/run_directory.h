// The output directory of a run. One run uses it at a time, and a run deletes nothing there but
// what runs have written.
//
// Both are kept by a file in it, `.spire_run`: the run holds a lock on it (flock, so it is free
// when the process ends, however it ends), and its text names the run that holds it, and the
// folders that runs have made. On NFS, Linux sends the lock to the server, and runs on other hosts
// see it; where a file system has no locks, locked() is false.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace spire::inline run {

class RunDirectory {
 public:
  static constexpr const char* record_name = ".spire_run";

  // Makes the directory where it is not there, and locks it. Throws Error(config), at once: another
  // run holds it (its host, process and start are named), it is no directory, or cannot be made,
  // read or written.
  explicit RunDirectory(std::filesystem::path path);
  // Where no run was begun the directory is left as it was found.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool locked() const { return locked_; }

  // A new run begins. Where there is something in the directory: with `replace`, what earlier runs
  // wrote is deleted, and all else stays. Throws Error(config) without `replace`, and where no run
  // has written there.
  void begin(bool replace);
  // Both throw Error(config), before anything is changed, where metrics.jsonl and the like are no
  // regular files. The run whose checkpoint lies here goes on.
  void go_on();

  // A folder inside, made where it is not there: for files of the run. Throws Error(config) where
  // nothing can be written into it. A link to a folder is one.
  std::filesystem::path folder(const std::string& name);

  // Whether all of it is still there; a few system calls. What somebody removed, moved or replaced
  // while the run goes on is made and locked anew. Returns what that was, as a sentence; empty:
  // nothing. Throws Error(checkpoint) where it cannot be made: another run has the directory now,
  // say. For a run that has begun.
  std::string mend();

 private:
  void leave() noexcept;
  void take_record();
  void refuse_another_runs();
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
  int made_here_ = 0;  // the directory and those above it, by this object: how many
  bool begun_ = false;
  bool of_a_run_ = false;               // some run has begun here
  std::set<std::string> made_;          // folders, by runs
  std::map<std::string, int> folders_;  // those of this run: descriptors
  std::string before_;                  // the record's text as it was found
  bool known_ = false;                  // before_ could be read: an empty one is a record made here
  std::string holder_;  // this process: "host, process 123, since 2026-11-22T18:00:00Z"
};

// Whether a directory holds anything but the record. Throws Error(config) where it cannot be
// listed; one that is not there is empty.
bool holds_something(const std::filesystem::path& directory);

}  // namespace spire::inline run
