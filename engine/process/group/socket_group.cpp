#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/socket.h>

#include <poll.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/process/group/process_group.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

// The time for which exchange() spins before it sleeps in poll(): most answers come within it.
constexpr auto spin_time = std::chrono::microseconds(50);

// The progress of the messages with one peer in one direction: `bytes` of list[at] are transferred.
// at == list.size(): nothing is left.
struct Progress {
  size_t at = 0;
  size_t bytes = 0;
};

// Moves to the next message with this peer that has bytes.
template <typename Message>
void skip_others(std::span<const Message> list, int peer, Progress& progress) {
  size_t& at = progress.at;
  while (at < list.size() && (list[at].peer != peer || list[at].bytes == 0)) ++at;
}

template <typename Message>
void advance(std::span<const Message> list, int peer, Progress& progress, ssize_t moved) {
  progress.bytes += static_cast<size_t>(moved);
  if (progress.bytes < list[progress.at].bytes) return;
  progress = {progress.at + 1, 0};
  skip_others(list, peer, progress);
}

// The part of `count` values that rank `index` adds up: all_reduce() sums them in rank order.
struct Shard {
  int64_t begin, count;
};
Shard shard_of(int64_t count, int index, int parts) {
  int64_t begin = count * index / parts;
  return {begin, count * (index + 1) / parts - begin};
}

// Messages follow each other on the stream without framing, since both sides know their sizes. A
// message of 0 bytes puts nothing on the wire.
class SocketGroup final : public ProcessGroup {
 public:
  SocketGroup(int rank, std::vector<Socket> peers);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  std::string transport() const override { return "TCP"; }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) override;
  void all_reduce(float* values, int64_t count) override;
  void interrupt() noexcept override;
  bool interrupted() const noexcept override { return interrupted_.load(); }

 private:
  template <typename Message>
  void begin(std::span<const Message> list, std::vector<Progress>& progress);
  bool send_some(std::span<const Outgoing> sends, int peer);
  bool receive_some(std::span<const Incoming> receives, int peer);
  bool move_some(std::span<const Outgoing> sends, std::span<const Incoming> receives);
  bool list_unfinished(size_t sends, size_t receives);
  void sleep();
  void check_errno(int peer);
  [[noreturn]] void lose(const std::string& message);

  // The three parts of all_reduce().
  void gather_shards(float* values, int64_t count);
  void add_up(float* values, int64_t count);
  void spread_shards(float* values, int64_t count);

  const int rank_;
  const std::vector<Socket> peers_;
  const Socket wake_ = event_counter();  // readable once interrupted
  std::atomic<bool> interrupted_{false};
  std::string lost_;  // the failure; the streams may then stand in the middle of a message

  // Kept from call to call, so that a step allocates nothing.
  std::vector<Progress> sending_, receiving_;
  std::vector<pollfd> polled_;
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
  std::vector<float> others_;  // [size - 1][own shard], by rank
};

SocketGroup::SocketGroup(int rank, std::vector<Socket> peers)
    : rank_(rank), peers_(std::move(peers)) {
  require(rank >= 0 && rank < size(), "rank {} of {} sockets", rank, peers_.size());
  for (int peer = 0; peer < size(); ++peer) {
    bool there = static_cast<bool>(peers_[size_t(peer)]);
    require(there == (peer != rank), "rank {} has a wrong socket for rank {}", rank, peer);
  }
  sending_.resize(peers_.size());
  receiving_.resize(peers_.size());
  polled_.reserve(peers_.size() + 1);
}

void SocketGroup::interrupt() noexcept {
  interrupted_.store(true);
  notify(wake_);
}

void SocketGroup::lose(const std::string& message) {
  lost_ = message;
  throw PeerLost(message);
}

void SocketGroup::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) {
  if (!lost_.empty()) throw PeerLost(lost_);
  begin(sends, sending_);
  begin(receives, receiving_);
  auto last_move = Clock::now();
  for (;;) {
    if (interrupted_.load()) lose("interrupted because the run has failed");
    bool moved = move_some(sends, receives);
    if (!list_unfinished(sends.size(), receives.size())) return;
    auto now = Clock::now();
    if (moved) {
      last_move = now;
    } else if (now - last_move > spin_time) {
      sleep();
    }
  }
}

template <typename Message>
void SocketGroup::begin(std::span<const Message> list, std::vector<Progress>& progress) {
  for (const Message& message : list) {
    bool other = message.peer >= 0 && message.peer < size() && message.peer != rank_;
    require(other, "rank {} of {} exchanges with rank {}", rank_, size(), message.peer);
  }
  for (int peer = 0; peer < size(); ++peer) {
    progress[size_t(peer)] = {};
    skip_others(list, peer, progress[size_t(peer)]);
  }
}

// One system call a peer and direction, so that no stream waits for another.
bool SocketGroup::move_some(std::span<const Outgoing> sends, std::span<const Incoming> receives) {
  bool moved = false;
  for (int peer = 0; peer < size(); ++peer) {
    moved |= send_some(sends, peer);
    moved |= receive_some(receives, peer);
  }
  return moved;
}

bool SocketGroup::send_some(std::span<const Outgoing> sends, int peer) {
  Progress& progress = sending_[size_t(peer)];
  if (progress.at == sends.size()) return false;
  const Outgoing& message = sends[progress.at];
  auto from = static_cast<const char*>(message.data) + progress.bytes;
  int descriptor = peers_[size_t(peer)].descriptor();
  ssize_t sent = send(descriptor, from, message.bytes - progress.bytes, MSG_NOSIGNAL);
  if (sent < 0) {
    check_errno(peer);
    return false;
  }
  advance(sends, peer, progress, sent);
  return sent > 0;
}

bool SocketGroup::receive_some(std::span<const Incoming> receives, int peer) {
  Progress& progress = receiving_[size_t(peer)];
  if (progress.at == receives.size()) return false;
  const Incoming& message = receives[progress.at];
  auto to = static_cast<char*>(message.data) + progress.bytes;
  int descriptor = peers_[size_t(peer)].descriptor();
  ssize_t received = recv(descriptor, to, message.bytes - progress.bytes, 0);
  if (received == 0) lose(fmt::format("rank {} closed its connection", peer));
  if (received < 0) {
    check_errno(peer);
    return false;
  }
  advance(receives, peer, progress, received);
  return true;
}

void SocketGroup::check_errno(int peer) {
  int error = errno;
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return;
  if (error == EPIPE || error == ECONNRESET)
    lose(fmt::format("rank {} closed its connection", peer));
  lose(fmt::format("the connection to rank {} broke: {}", peer, strerror(error)));
}

// Fills polled_ with the streams that are not finished; false if there are none.
bool SocketGroup::list_unfinished(size_t sends, size_t receives) {
  polled_.clear();
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    int events =
        (sending_[peer].at < sends ? POLLOUT : 0) | (receiving_[peer].at < receives ? POLLIN : 0);
    if (events) polled_.push_back({peers_[peer].descriptor(), static_cast<short>(events), 0});
  }
  return !polled_.empty();
}

void SocketGroup::sleep() {
  polled_.push_back({wake_.descriptor(), POLLIN, 0});
  if (poll(polled_.data(), polled_.size(), -1) < 0 && errno != EINTR)
    fail(Category::device, "poll: {}", strerror(errno));
}

// A reduce_scatter and an all_gather: each rank sums one shard in rank order, then sends it to all.
// The same bits on every rank, and as many bytes on the wire as a ring.
void SocketGroup::all_reduce(float* values, int64_t count) {
  gather_shards(values, count);
  add_up(values, count);
  spread_shards(values, count);
}

void SocketGroup::gather_shards(float* values, int64_t count) {
  Shard own = shard_of(count, rank_, size());
  others_.resize(std::max(others_.size(), static_cast<size_t>(own.count) * (peers_.size() - 1)));
  sends_.clear();
  receives_.clear();
  float* to = others_.data();
  size_t own_bytes = static_cast<size_t>(own.count) * sizeof(float);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    Shard theirs = shard_of(count, peer, size());
    size_t bytes = static_cast<size_t>(theirs.count) * sizeof(float);
    sends_.push_back({peer, values + theirs.begin, bytes});
    receives_.push_back({peer, to, own_bytes});
    to += own.count;
  }
  exchange(sends_, receives_);
}

// Adds the ranks' shards in rank order, in chunks that stay in the L1 cache.
void SocketGroup::add_up(float* values, int64_t count) {
  constexpr int64_t chunk = 1024;
  Shard own = shard_of(count, rank_, size());
  float sum[chunk];
  for (int64_t begin = 0; begin < own.count; begin += chunk) {
    int64_t length = std::min(chunk, own.count - begin);
    for (int rank = 0; rank < size(); ++rank) {
      int row = rank < rank_ ? rank : rank - 1;
      const float* part = rank == rank_ ? values + own.begin : others_.data() + row * own.count;
      part += begin;
      if (rank == 0) {
        std::copy_n(part, length, sum);
      } else {
        for (int64_t i = 0; i < length; ++i) sum[i] += part[i];
      }
    }
    std::copy_n(sum, length, values + own.begin + begin);
  }
}

void SocketGroup::spread_shards(float* values, int64_t count) {
  Shard own = shard_of(count, rank_, size());
  size_t own_bytes = static_cast<size_t>(own.count) * sizeof(float);
  sends_.clear();
  receives_.clear();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    Shard theirs = shard_of(count, peer, size());
    size_t bytes = static_cast<size_t>(theirs.count) * sizeof(float);
    sends_.push_back({peer, values + own.begin, own_bytes});
    receives_.push_back({peer, values + theirs.begin, bytes});
  }
  exchange(sends_, receives_);
}

}  // namespace

std::unique_ptr<ProcessGroup> socket_group(int rank, std::vector<Socket> peers) {
  return std::make_unique<SocketGroup>(rank, std::move(peers));
}

}  // namespace spire
