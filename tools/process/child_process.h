// A child process, which runs this program with other arguments, and what it writes.
#pragma once
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "tools/process/descriptor.h"

namespace spire {

struct Variable {  // an environment variable
  std::string name, value;
};

struct Streams {  // descriptors that a child has as stdout and stderr; -1: this process's
  int out = -1, err = -1;
};

struct ChildSetup {
  std::vector<std::string> words;   // arguments, without the program's name
  std::vector<Variable> variables;  // added to the inherited environment; replace equal names
  pid_t group = 0;  // process group to join; 0: a new one, whose id is the child's pid
  sigset_t signal_mask = {};
  bool silent = false;          // redirect stdout and stderr to /dev/null
  Streams streams = {};         // where it is not silent
  std::vector<int> cores = {};  // logical CPUs that it may use; empty: those of this thread
};

// How a child ended. Attempt sets `rank` and `forced`.
struct ExitStatus {
  int rank = -1;        // -1: the child has no rank
  int code = 0;         // exit code if signal is 0
  int signal = 0;       // signal that killed it; 0: it exited
  bool forced = false;  // ended by this program, since it did not end by itself

  bool good() const { return code == 0 && signal == 0; }
};
std::string to_string(const ExitStatus& status);  // "rank 2 was killed by signal 9 (Killed)"

// The child shares this process's stdin, stdout and stderr unless its setup says otherwise; the
// variable SPIRE_DEVICES is empty in it. The kernel kills it when the thread that started it ends,
// so start it on a thread that lives as long as the process.
class ChildProcess {
 public:
  explicit ChildProcess(ChildSetup setup);  // throws Error(device) if fork() fails
  ~ChildProcess();                          // kills the child if it still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  // Returns the status once, in the first call after the child has ended; else none. Never blocks.
  std::optional<ExitStatus> try_wait();
  // Kills the child if it still runs, and does not wait: it may hang in the kernel.
  void abandon();

 private:
  pid_t pid_ = -1;
  bool running_ = false;
};

// What child processes write to a descriptor, kept in memory.
class CapturedOutput {
 public:
  CapturedOutput();  // throws Error(device)

  int descriptor() const { return descriptor_; }  // for ChildSetup::streams
  std::string text() const;                       // REQUIRES: nobody writes any more

 private:
  Descriptor descriptor_;  // a memfd
};

// Returns the message of the last line "error[6]: ..." in `err`, what a process wrote to stderr;
// empty if there is none.
std::string reported_error(const std::string& err);

}  // namespace spire
