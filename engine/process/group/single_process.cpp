#include <atomic>

#include "engine/process/group/process_group.h"

namespace spire::inline process {
namespace {

class SingleProcess final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string transport() const override { return "one process"; }

  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) override {
    require(sends.empty() && receives.empty(), "a run of one process has nobody to talk to");
    check();
  }
  void all_reduce(float*, int64_t) override { check(); }
  void interrupt() noexcept override { interrupted_.store(true); }
  bool interrupted() const noexcept override { return interrupted_.load(); }

 private:
  void check() const {
    if (interrupted_.load()) throw PeerLost("interrupted because the run has failed");
  }

  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::unique_ptr<ProcessGroup> single_process() {
  return std::make_unique<SingleProcess>();
}

}  // namespace spire::inline process
