#include <tuple>

#include "engine/process/group/process_group.h"

namespace spire::inline process {
namespace {

// ends[r][q]: rank r's end of the pair that joins it to rank q; [r][r] is empty.
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

}  // namespace

std::vector<std::unique_ptr<ProcessGroup>> threads_groups(int size) {
  std::vector<std::unique_ptr<ProcessGroup>> groups;
  int rank = 0;
  for (auto& sockets : pairs_of_all(size))
    groups.push_back(socket_group(rank++, std::move(sockets)));
  return groups;
}

}  // namespace spire::inline process
