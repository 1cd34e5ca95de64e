// The output directory of a run. One run uses it at a time, and a run deletes only files that runs
// have written.
//
// A record in it, the file `.spire_run`, ensures both. The run holds a lock on it: flock, which the
// system releases when the process ends, however it ends. Its text names the run that holds it, and
// the folders that runs have made. On NFS, Linux sends the lock to the server, and runs on other
// hosts see it; on a file system without locks, locked() is false.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace spire::inline run {

class RunDirectory {
 public:
  static constexpr const char* record_name = ".spire_run";

  // Makes the directory if it does not exist, and locks it without waiting. Throws Error(config)
  // where another run holds it (its host, process and start are named), where it is no directory,
  // or cannot be made, read or written.
  explicit RunDirectory(std::filesystem::path path);
  // Leaves the directory as it was found, unless a run was begun.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool locked() const { return locked_; }

  // Begins a new run. In a directory that is not empty, `replace` deletes the files of earlier runs
  // and nothing else. Throws Error(config) without `replace`, and where no run has written there.
  void begin(bool replace);
  // Continues the run whose checkpoint lies here. This and begin() throw Error(config), before they
  // change anything, where metrics.jsonl and the like are no regular files.
  void go_on();

  // Returns a folder inside for files of the run, and makes it if it does not exist. It may be a
  // link. Throws Error(config) where it cannot be written into.
  std::filesystem::path folder(const std::string& name);

  // Checks with a few system calls that the directory and its folders still exist. Makes and locks
  // them again if somebody has removed, moved or replaced them. Returns the loss as a sentence;
  // empty: none. Throws Error(checkpoint) where they cannot be made, for example because another
  // run has the directory now. For a run that has begun.
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

// Whether a directory holds anything but the record. One that does not exist is empty. Throws
// Error(config) where it cannot be listed.
bool holds_something(const std::filesystem::path& directory);

}  // namespace spire::inline run
