// Exchanges between the GPUs of a process that read each other's memory. The members' threads meet:
// each has published what it sends, and an event behind the work that makes it; each copies what it
// receives, behind the others' events. No kernel waits on a GPU, and copies take no cores of it.
#include <algorithm>
#include <atomic>

#include "engine/base/fail.h"
#include "engine/device/lane_team.h"
#include "engine/update/exchange.h"

namespace spire {
namespace {

// What the members of a process share. Each writes its own desk, then meets the others.
struct PeerDesks {
  struct alignas(64) Desk {
    std::span<const Outgoing> sends;
    std::unique_ptr<Event> ready[2];  // used in turn: others may still wait for the one before
    std::unique_ptr<Event> copied;    // behind its receives
  };

  explicit PeerDesks(std::span<const ExchangeEnd> ends)
      : first(ends.front().rank), desks(ends.size()), barrier(static_cast<int>(ends.size())) {
    for (size_t i = 0; i < ends.size(); ++i) {
      auto stream = make_stream(ends[i].device);
      for (auto& event : desks[i].ready) event = stream->make_event();
      desks[i].copied = stream->make_event();
    }
  }
  Desk& of(int member) { return desks[static_cast<size_t>(member - first)]; }

  const int first;
  std::vector<Desk> desks;
  Barrier barrier;
  std::atomic<bool> aborted{false};
};

class PeerExchange final : public Communicator {
 public:
  // others: null if all members are peers.
  PeerExchange(std::shared_ptr<PeerDesks> desks, const ExchangeEnd& end,
               const std::vector<PeerRange>& peers, std::unique_ptr<Communicator> others)
      : Communicator(peers),
        desks_(std::move(desks)),
        rank_(end.rank),
        own_(peers[static_cast<size_t>(end.rank)]),
        others_(std::move(others)),
        last_(make_stream(end.device)->make_event()),
        taken_(static_cast<size_t>(own_.size())) {}

  int rank() const override { return rank_; }

  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream& stream) override;
  void meet(Stream& stream) override;
  void all_reduce(float*, int64_t, Stream&) override {
    require(false, "an all-reduce of member {}, which has peers", rank_);
  }

  void check() override {
    if (desks_->aborted) lose();
    if (others_) others_->check();
  }
  void abort() noexcept override {
    desks_->aborted = true;
    desks_->barrier.abort_waits();
    if (others_) others_->abort();
  }

 private:
  [[noreturn]] static void lose() {
    throw PeerLost("the exchange between the GPUs was aborted because the run has failed");
  }
  void exchange_with_others(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                            Stream& stream);
  void announce_and_wait(std::span<const Outgoing> sends, Stream& stream);
  void meet_threads();
  void copy(const Incoming& message, Stream& stream);

  const std::shared_ptr<PeerDesks> desks_;
  const int rank_;
  const PeerRange own_;
  const std::unique_ptr<Communicator> others_;
  std::unique_ptr<Event> last_;  // after the last call, on whatever stream it was
  size_t turn_ = 0;
  std::vector<size_t> taken_;  // of each peer's list of messages: how many this call has looked at
  std::vector<Outgoing> far_sends_;
  std::vector<Incoming> far_receives_;
};

void PeerExchange::meet_threads() {
  try {
    desks_->barrier.wait();
  } catch (const BarrierBroken&) {
    lose();
  }
}

// On return all peers have announced what they send, and the stream waits for what theirs had to do
// before.
void PeerExchange::announce_and_wait(std::span<const Outgoing> sends, Stream& stream) {
  turn_ = 1 - turn_;
  PeerDesks::Desk& own = desks_->of(rank_);
  own.sends = sends;
  stream.record(*own.ready[turn_]);
  meet_threads();
  for (int peer = own_.begin; peer < own_.end; ++peer)
    if (peer != rank_) stream.wait_for(*desks_->of(peer).ready[turn_]);
}

void PeerExchange::meet(Stream& stream) {
  stream.wait_for(*last_);
  announce_and_wait({}, stream);
  stream.record(*last_);
}

void PeerExchange::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                            Stream& stream) {
  stream.wait_for(*last_);  // a member's calls run in one order, also where the streams differ
  exchange_with_others(sends, receives, stream);
  announce_and_wait(sends, stream);
  std::ranges::fill(taken_, size_t{0});
  for (const Incoming& message : receives)
    if (own_.has(message.peer)) copy(message, stream);
  PeerDesks::Desk& own = desks_->of(rank_);
  stream.record(*own.copied);
  meet_threads();
  // What was sent may be overwritten once the receivers have copied it.
  for (int peer = own_.begin; peer < own_.end; ++peer) {
    auto goes_to = [peer](const Outgoing& message) { return message.peer == peer; };
    if (std::ranges::any_of(sends, goes_to)) stream.wait_for(*desks_->of(peer).copied);
  }
  stream.record(*last_);
}

void PeerExchange::exchange_with_others(std::span<const Outgoing> sends,
                                        std::span<const Incoming> receives, Stream& stream) {
  if (!others_) return;
  auto is_far = [this](const auto& message) { return !own_.has(message.peer); };
  far_sends_.clear();
  far_receives_.clear();
  std::ranges::copy_if(sends, std::back_inserter(far_sends_), is_far);
  std::ranges::copy_if(receives, std::back_inserter(far_receives_), is_far);
  if (!far_sends_.empty() || !far_receives_.empty())
    others_->exchange(far_sends_, far_receives_, stream);
}

// Messages between two members are received in the order in which they are sent.
void PeerExchange::copy(const Incoming& message, Stream& stream) {
  std::span<const Outgoing> list = desks_->of(message.peer).sends;
  size_t& next = taken_[static_cast<size_t>(message.peer - own_.begin)];
  while (next < list.size() && list[next].peer != rank_) ++next;
  require(next < list.size() && list[next].bytes == message.bytes,
          "member {} receives {} bytes from member {}, which sends others", rank_, message.bytes,
          message.peer);
  stream.copy(message.data, list[next++].data, message.bytes);
}

}  // namespace

DeviceExchanges make_peer_exchanges(std::span<const ExchangeEnd> ends,
                                    const std::vector<PeerRange>& peers, DeviceExchanges others) {
  std::vector<DeviceId> devices;
  for (const ExchangeEnd& end : ends) devices.push_back(end.device);
  connect_devices(devices);
  auto desks = std::make_shared<PeerDesks>(ends);
  DeviceExchanges exchanges;
  for (size_t i = 0; i < ends.size(); ++i)
    exchanges.push_back(std::make_unique<PeerExchange>(
        desks, ends[i], peers, others.empty() ? nullptr : std::move(others[i])));
  return exchanges;
}

}  // namespace spire
