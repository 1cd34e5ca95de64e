// Runs the trainer as a person does: a process of its own, with its streams in files.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace spire {

struct Output {
  int code = -1;    // exit code, or 128 + signal
  std::string out;  // stdout
  std::string err;  // stderr

  std::string last_error_line() const;
};

class Program {
 public:
  // Starts the trainer with the given words. The folder for its streams is removed at the end.
  explicit Program(const std::vector<std::string>& words);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const;
  // True once stderr or stdout hold `text`; false when the program ended before that.
  bool wait_for(const std::string& text);
  Output finish();  // waits for the end

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

inline Output trainer(const std::vector<std::string>& words) {
  return Program(words).finish();
}

// An empty folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;  // its path

 private:
  std::filesystem::path path_;
};

}  // namespace spire
