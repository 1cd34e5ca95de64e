#include "engine/process/group/process_group.h"

namespace spire::inline process {
namespace {

// One message to each other rank and one from each: data(r) and bytes(r) say where, and how long.
template <typename Message, typename Data, typename Bytes>
std::vector<Message> messages(const ProcessGroup& group, Data data, Bytes bytes) {
  std::vector<Message> list;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer != group.rank()) list.push_back({peer, data(peer), bytes(peer)});
  }
  return list;
}

}  // namespace

std::vector<std::string> all_gather(ProcessGroup& group, const std::string& mine) {
  auto ranks = static_cast<size_t>(group.size());
  uint64_t length = mine.size();
  std::vector<uint64_t> lengths(ranks, length);
  auto word = [](int) { return sizeof(uint64_t); };
  group.exchange(messages<Outgoing>(
                     group, [&](int) { return &length; }, word),
                 messages<Incoming>(
                     group, [&](int peer) { return &lengths[size_t(peer)]; }, word));

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

}  // namespace spire::inline process
