// Runs the trainer as a process, with its streams in files.
#pragma once
#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

#include "tests/base/folder.h"
#include "tests/tools/words.h"

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
  explicit Program(const Words& words);
  // Starts another program, by its path, to which the trainer is a word: a launcher.
  Program(const std::string& path, const Words& words);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void signal(int number) const;
  // True once stderr or stdout hold `text`, `times` times; false when the program ended before, or
  // five minutes went by.
  bool wait_for(const std::string& text, int times = 1);
  pid_t pid() const { return pid_; }  // -1 once it has ended and wait_for() or finish() saw that
  Output finish();                    // waits for the end
  bool ends_by(std::chrono::steady_clock::time_point time);  // waits for it, until then

 private:
  Folder folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

// How often the text holds the part.
int count(const std::string& text, const std::string& part);
// From /proc. The children of a process, ascending; empty when it has none or is gone.
std::vector<pid_t> children_of(pid_t parent);
char state_of(pid_t process);  // 'R', 'S', 'T' (stopped), 'Z' (ended, not yet waited for); 0: none
inline bool gone(pid_t process) {
  return state_of(process) == 0 || state_of(process) == 'Z';
}

// The value on the last line of stdout, "parameter hash <16 hex digits>". Fails where there is
// none, and where the program did not end with `code`: two runs that fail are not alike.
std::string printed_hash(const Output& output, int code = 0);

inline Output trainer(const Words& words) {
  return Program(words).finish();
}
// Fail unless the program ended with exit code 0, or with `code` and a last error line that holds
// `says`. Both return the output.
Output expect_success(const Output& output);
Output expect_error(int code, const Output& output, const std::string& says);

// A folder whose paths are words of a command line.
struct WorkFolder : Folder {
  std::string operator/(const std::string& name) const { return Folder::operator/(name); }
  std::string write(const std::string& name, const std::string& text) const {
    return Folder::write(name, text);
  }
};

}  // namespace spire
