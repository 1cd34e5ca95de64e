#include "tools/bench/prediction/local_link.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/process/group/process_group.h"

namespace spire {

Link measure_local_link(int64_t bytes, const Repeats& repeats) {
  auto groups = threads_groups(2);
  DeviceCrew crew(Kind::cpu, 2);
  auto count = static_cast<size_t>(bytes);
  std::array<std::vector<std::byte>, 2> sent, received;
  sent.fill(std::vector<std::byte>(count));
  received.fill(std::vector<std::byte>(count));
  auto seconds = [&](size_t size) {
    return crew.best_seconds(repeats, [&](int lane) {
      auto l = static_cast<size_t>(lane);
      Outgoing send{1 - lane, sent[l].data(), size};
      Incoming receive{1 - lane, received[l].data(), size};
      groups[l]->exchange({&send, 1}, {&receive, 1});
    });
  };
  double alpha = seconds(8), whole = seconds(count);
  return {.name = "between processes of this host, measured",
          .alpha = alpha,
          .beta = std::max(0.0, whole - alpha) / static_cast<double>(bytes)};
}

}  // namespace spire
