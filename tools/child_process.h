// A child of this process: the same program with other words.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace spire::tool {

struct Variable {
  std::string name, value;
};

struct ChildSetup {
  std::vector<std::string> words;
  std::vector<Variable> variables;  // beside this process's own, or in their place
  pid_t group = 0;                  // an existing process group, or 0: a new one, named by its pid
  sigset_t signal_mask = {};
  bool silent = false;  // what it prints goes nowhere
};

// Shares this process's streams, unless it is silent. However this process ends, the child is
// killed with it. To be started by a thread that lives as long as the process.
class ChildProcess {
 public:
  explicit ChildProcess(ChildSetup setup);  // Error(device) when the system gives no process
  ~ChildProcess();                          // kills it, if it has not ended
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  // What waitpid() says of it, once, when it has ended; never waits.
  std::optional<int> take_end();

 private:
  pid_t pid_ = -1;
  bool running_ = false;
};

}  // namespace spire::tool
