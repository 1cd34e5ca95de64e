#include "tests/tools/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace spire {

namespace {

struct Stat {
  char state = 0;
  pid_t parent = 0;
};

// "PID (NAME) STATE PARENT ...", where NAME may hold anything.
Stat stat_of(const std::string& process) {
  std::string text = content_of("/proc/" + process + "/stat");
  Stat stat;
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return stat;
  std::istringstream(text.substr(name_end + 1)) >> stat.state >> stat.parent;
  return stat;
}

// In the child between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, const char* out, const char* err) {
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  execv(words[0], words);
  _exit(127);
}

}  // namespace

int count(const std::string& text, const std::string& part) {
  int times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

std::string Output::last_error_line() const {
  std::string text = err.substr(0, err.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

Output expect_success(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err << output.out;
  return output;
}

Output expect_error(int code, const Output& output, const std::string& says) {
  EXPECT_EQ(output.code, code) << output.err;
  EXPECT_THAT(output.last_error_line(), testing::HasSubstr(says));
  return output;
}

std::string printed_hash(const Output& output, int code) {
  EXPECT_EQ(output.code, code) << output.err;
  std::string last = output.out.substr(0, output.out.find_last_not_of('\n') + 1);
  last = last.substr(last.rfind('\n') + 1);
  EXPECT_THAT(last, testing::MatchesRegex("parameter hash +[0-9a-f]{16}"));
  return last.substr(last.rfind(' ') + 1);
}

Program::Program(const Words& words) : Program(TRAINER_PROGRAM, words) {}

Program::Program(const std::string& path, const Words& words) {
  Words all = Words{path} + words;
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string out = folder_ / "out";
  std::string err = folder_ / "err";
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) become(pointers.data(), out.c_str(), err.c_str());
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Program::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Program::wait_for(const std::string& text, int times) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::chrono::steady_clock::now() < deadline) {
    bool ended = pid_ <= 0 || waitpid(pid_, &status_, WNOHANG) == pid_;
    if (ended) pid_ = -1;
    if (count(content_of(folder_ / "err"), text) >= times) return true;
    if (count(content_of(folder_ / "out"), text) >= times) return true;
    if (ended) return false;
    usleep(2000);  // gives the core to the program; the end of the loop is the text, not the time
  }
  return false;
}

bool Program::ends_by(std::chrono::steady_clock::time_point time) {
  while (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) != pid_) {
    if (std::chrono::steady_clock::now() >= time) return false;
    usleep(2000);  // gives the core to the program
  }
  pid_ = -1;
  return true;
}

Output Program::finish() {
  if (pid_ > 0) waitpid(pid_, &status_, 0);
  pid_ = -1;
  int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {code, content_of(folder_ / "out"), content_of(folder_ / "err")};
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (stat_of(name).parent == parent) children.push_back(std::stoi(name));
  }
  std::ranges::sort(children);
  return children;
}

char state_of(pid_t process) {
  return stat_of(std::to_string(process)).state;
}

}  // namespace spire
