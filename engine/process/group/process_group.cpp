#include "engine/process/group/process_group.h"

#include <atomic>
#include <tuple>

#include "engine/base/fail.h"

namespace spire {
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

// Returns ends[r][q]: rank r's end of the socket pair to rank q; [r][r] is empty.
std::vector<std::vector<Socket>> pairs_of_all(int size) {
  require(size > 0, "{} ranks", size);
  auto ranks = static_cast<size_t>(size);
  std::vector<std::vector<Socket>> ends(ranks);
  for (auto& row : ends) row.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    for (size_t q = 0; q < r; ++q) std::tie(ends[r][q], ends[q][r]) = socket_pair();
  }
  return ends;
}

// Every rank takes part in an exchange with every other one: the lists of both sides must agree.
// Returns one message for each other rank, to or from it: data(r) with bytes(r) bytes.
template <typename Message, typename Data, typename Bytes>
std::vector<Message> messages(const ProcessGroup& group, Data data, Bytes bytes) {
  std::vector<Message> list;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer != group.rank()) list.push_back({peer, data(peer), bytes(peer)});
  }
  return list;
}

}  // namespace

std::unique_ptr<ProcessGroup> single_process() {
  return std::make_unique<SingleProcess>();
}

std::vector<std::unique_ptr<ProcessGroup>> threads_groups(int size) {
  std::vector<std::unique_ptr<ProcessGroup>> groups;
  int rank = 0;
  for (auto& sockets : pairs_of_all(size))
    groups.push_back(socket_group(rank++, std::move(sockets)));
  return groups;
}

std::vector<std::string> all_gather(ProcessGroup& group, const std::string& mine) {
  // First the lengths, since a receiver must know the size of a message.
  auto ranks = static_cast<size_t>(group.size());
  uint64_t length = mine.size();
  std::vector<uint64_t> lengths(ranks, length);
  auto word = [](int) { return sizeof(uint64_t); };
  group.exchange(messages<Outgoing>(
                     group, [&](int) { return &length; }, word),
                 messages<Incoming>(
                     group, [&](int peer) { return &lengths[size_t(peer)]; }, word));

  // Then the texts, straight into the strings that are returned.
  std::vector<std::string> texts(ranks);
  for (size_t r = 0; r < ranks; ++r) texts[r].resize(lengths[r]);
  texts[static_cast<size_t>(group.rank())] = mine;
  auto text = [&](int peer) { return texts[size_t(peer)].data(); };
  auto size = [&](int peer) { return texts[size_t(peer)].size(); };
  group.exchange(messages<Outgoing>(
                     group, [&](int) { return mine.data(); }, [&](int) { return mine.size(); }),
                 messages<Incoming>(group, text, size));
  return texts;
}

std::string broadcast(ProcessGroup& group, const std::string& text) {
  return all_gather(group, group.rank() == 0 ? text : std::string()).front();
}

void gather_pieces(ProcessGroup& group, const std::function<std::string()>& next,
                   const std::function<void(std::string_view)>& take) {
  auto send = [&](const void* data, size_t bytes) {
    Outgoing message{0, data, bytes};
    group.exchange({&message, 1}, {});
  };
  auto receive = [&](int peer, void* data, size_t bytes) {
    Incoming message{peer, data, bytes};
    group.exchange({}, {&message, 1});
  };
  std::string piece;
  uint64_t length = 0;  // goes before each piece; 0: no further one
  if (group.rank() > 0) {
    do {
      piece = next();
      length = piece.size();
      send(&length, sizeof length);
      if (length > 0) send(piece.data(), length);
    } while (length > 0);
    return;
  }
  for (piece = next(); !piece.empty(); piece = next()) take(piece);
  for (int peer = 1; peer < group.size(); ++peer) {
    for (receive(peer, &length, sizeof length); length > 0; receive(peer, &length, sizeof length)) {
      piece.resize(length);
      receive(peer, piece.data(), length);
      take(piece);
    }
  }
}

}  // namespace spire
