// Child process that runs this program with other arguments.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace spire::tool {

struct Variable {  // of the environment
  std::string name, value;
};

struct ChildSetup {
  std::vector<std::string> words;   // arguments behind the program's name
  std::vector<Variable> variables;  // added to this process's environment, or replace its values
  pid_t group = 0;                  // an existing process group; 0: a new one, named by its pid
  sigset_t signal_mask = {};
  bool silent = false;  // stdout and stderr are /dev/null
};

// How a child ended. A rank's attempt fills `rank` and `forced`.
struct ExitStatus {
  int rank = -1;        // -1: the only process, without a rank
  int code = 0;         // exit code, where signal is 0
  int signal = 0;       // signal that killed it
  bool forced = false;  // killed by this program, because it did not end by itself

  bool good() const { return code == 0 && signal == 0; }
};
std::string to_string(const ExitStatus& status);  // "rank 2 was killed by signal 9 (Killed)"

// Shares this process's streams unless it is silent. The kernel kills it when the thread that
// started it ends, so start it on a thread that lives as long as the process.
class ChildProcess {
 public:
  explicit ChildProcess(ChildSetup setup);  // throws Error(device) where fork() fails
  ~ChildProcess();                          // kills it, if it still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  std::optional<ExitStatus> try_wait();  // the status, once, after its end; never blocks

 private:
  pid_t pid_ = -1;
  bool running_ = false;
};

}  // namespace spire::tool
