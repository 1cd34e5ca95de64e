#include "engine/collective/communicator.h"

namespace spire::inline collective {
namespace {

// A CPU's stream has nothing left to do when a call returns: the group's messages are in its order.
class HostExchange final : public Communicator {
 public:
  explicit HostExchange(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream&) override {
    group_.exchange(sends, receives);
  }
  void all_reduce(float* values, int64_t count, Stream&) override {
    group_.all_reduce(values, count);
  }
  void prepare(void*, size_t) override {}
  void forget(void*) noexcept override {}
  void check() override {}
  void abort() noexcept override {}

 private:
  ProcessGroup& group_;
};

}  // namespace

DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size) {
  if (ends[0].device.kind == DeviceKind::cuda) return make_nccl_exchanges(group, ends, size);
  require(ends.size() == 1 && group && group->rank() == ends[0].rank && group->size() == size,
          "{} members on the CPUs of a process", ends.size());
  DeviceExchanges exchanges;
  exchanges.push_back(std::make_unique<HostExchange>(*group));
  return exchanges;
}

std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device) {
  ExchangeEnd end{group.rank(), device};
  return std::move(make_device_exchanges(&group, {&end, 1}, group.size()).front());
}

}  // namespace spire::inline collective
