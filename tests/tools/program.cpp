#include "tests/tools/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace spire {

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "spire_tools_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return name;
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

std::string Output::last_error_line() const {
  std::string text = err.substr(0, err.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

Program::Program(const std::vector<std::string>& words) : folder_(make_folder()) {
  std::vector<std::string> all = {TRAINER_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
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
  std::filesystem::remove_all(folder_);
}

void Program::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Program::wait_for(const std::string& text) {
  while (true) {
    bool ended = pid_ <= 0 || waitpid(pid_, &status_, WNOHANG) == pid_;
    if (ended) pid_ = -1;
    if (read(folder_ / "err").find(text) != std::string::npos) return true;
    if (read(folder_ / "out").find(text) != std::string::npos) return true;
    if (ended) return false;
    usleep(2000);  // gives the core to the program; the end of the loop is the text, not the time
  }
}

Output Program::finish() {
  if (pid_ > 0) waitpid(pid_, &status_, 0);
  pid_ = -1;
  int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {code, read(folder_ / "out"), read(folder_ / "err")};
}

TemporaryFolder::TemporaryFolder() : path_(make_folder()) {}
TemporaryFolder::~TemporaryFolder() {
  std::filesystem::remove_all(path_);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return *this / name;
}

}  // namespace spire
