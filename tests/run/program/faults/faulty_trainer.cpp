// The trainer, whose rank `rank` fails as a thread of it enters a phase:
// SPIRE_TEST_FAULT="rank=1 phase=backward step=7 kind=stall thread=cpu:0 after=2". Kinds: stall
// (hangs for ever), throw, error (of the data), bug (of Spire), kill (SIGKILL), stop (SIGSTOP),
// slow (works for 10 ms, each time from then on). `after` entries pass before it; step and thread
// may be left out: any. It says first where it strikes: "struck: cpu:0, backward of step 7".
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>

#include <spire/trainer_main.h>
#include <spire/world.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

class Fault {
 public:
  explicit Fault(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      size_t equals = word.find('=');
      require(equals != std::string::npos, "SPIRE_TEST_FAULT: {}", word);
      words_[word.substr(0, equals)] = word.substr(equals + 1);
    }
    require(known(word("kind")), "SPIRE_TEST_FAULT: kind={}", word("kind"));
  }

  int rank() const { return std::stoi(word("rank", "0")); }

  void enter(const PhaseRow& row) {
    if (!matches(row)) return;
    std::unique_lock lock(mutex_);
    bool slow = word("kind") == "slow";
    int after = std::stoi(word("after", "0")), passed = passed_++;
    if (slow && passed > after) work();
    if (passed != after) return;
    fmt::print(stderr, "struck: {}, {}\n", row.thread, position_text(row));
    if (word("kind") == "error") fail(Category::data, "made to fail");
    if (word("kind") == "bug") fail(Category::unexpected, "made to fail");
    if (word("kind") == "throw") throw std::runtime_error("made to fail");
    if (word("kind") == "kill") raise(SIGKILL);
    if (word("kind") == "stop") raise(SIGSTOP);
    if (word("kind") == "stall") never_.wait(lock, [] { return false; });
  }

 private:
  static bool known(const std::string& kind) {
    return kind == "stall" || kind == "throw" || kind == "error" || kind == "bug" ||
           kind == "kill" || kind == "stop" || kind == "slow";
  }
  static void work() {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  std::string word(const std::string& key, const std::string& otherwise = "") const {
    auto found = words_.find(key);
    return found == words_.end() ? otherwise : found->second;
  }
  // "bucket" is any bucket, "bucket:3" that one.
  bool matches(const PhaseRow& row) const {
    std::string phase = phase_text(row.phase, row.detail);
    if (row.phase == Phase::bucket && word("phase") == "bucket") phase = "bucket";
    std::replace(phase.begin(), phase.end(), ' ', ':');
    return phase == word("phase") &&
           word("step", std::to_string(row.step)) == std::to_string(row.step) &&
           word("thread", row.thread) == row.thread;
  }

  std::map<std::string, std::string> words_;
  std::mutex mutex_;
  std::condition_variable never_;
  int passed_ = 0;
};

PhaseHook fault_hook() {
  Environment environment = process_environment();
  auto text = environment("SPIRE_TEST_FAULT");
  if (!text) return {};
  auto fault = std::make_shared<Fault>(*text);
  if (read_launch(environment).rank != fault->rank()) return {};
  return [fault](const PhaseRow& row) { fault->enter(row); };
}

}  // namespace
}  // namespace spire

int main(int argc, char** argv) {
  return spire::trainer_main(argc, argv, spire::fault_hook());
}
