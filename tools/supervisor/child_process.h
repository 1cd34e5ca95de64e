// Child process that runs this program with other arguments.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace spire::tool {

// Environment variable.
struct Variable {
  std::string name, value;
};

struct ChildSetup {
  std::vector<std::string> words;   // arguments behind the program's name
  std::vector<Variable> variables;  // added to this process's environment, or replace its values
  pid_t group = 0;                  // an existing process group; 0: a new one, named by its pid
  sigset_t signal_mask = {};
  bool silent = false;  // stdout and stderr are /dev/null
};

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
  // Returns the status of waitpid() once, after the child has ended; never blocks.
  std::optional<int> try_wait();

 private:
  pid_t pid_ = -1;
  bool running_ = false;
};

}  // namespace spire::tool
