#include <spire/collective/tower_vectors.h>

#include <bit>
#include <cstring>

namespace spire {

TowerVectors::TowerVectors(int64_t width, const std::vector<TowerRange>& rank_towers,
                           ProcessGroup* group, LaneTeam& team)
    : width_(width),
      rank_towers_(rank_towers),
      towers_(rank_towers.back().end),
      group_(group && group->size() > 1 ? group : nullptr),
      team_(team) {
  for (auto& rows : rows_) {
    rows = allocate_staging(team.spec(0).device,
                            static_cast<size_t>(towers_ * width) * sizeof(double));
  }
  auto depth = std::bit_width(static_cast<unsigned>(towers_)) + 1;
  for (int lane = 0; lane < team.size(); ++lane)
    scratch_.emplace_back(static_cast<size_t>(depth * width));
}

double* TowerVectors::row(size_t index, int tower, int64_t count) {
  return rows_[index % 2]->as<double>() + tower * count;
}

void TowerVectors::meet(size_t index, int lane, int64_t count) {
  team_.barrier();
  if (!group_) return;
  if (lane == 0) {
    auto bytes = [&](TowerRange towers) {
      return static_cast<size_t>(towers.size() * count) * sizeof(double);
    };
    TowerRange own = rank_towers_[static_cast<size_t>(group_->rank())];
    sends_.clear();
    receives_.clear();
    for (int rank = 0; rank < group_->size(); ++rank) {
      if (rank == group_->rank()) continue;
      TowerRange theirs = rank_towers_[static_cast<size_t>(rank)];
      sends_.push_back({rank, row(index, own.begin, count), bytes(own)});
      receives_.push_back({rank, row(index, theirs.begin, count), bytes(theirs)});
    }
    group_->exchange(sends_, receives_);
  }
  team_.barrier();
}

void TowerVectors::sum(size_t index, int lane, int64_t count, double* out) {
  double* scratch = scratch_[static_cast<size_t>(lane)].data();
  const double* total = add_rows({0, towers_}, row(index, 0, count), count, out, scratch);
  if (total != out) std::memcpy(out, total, static_cast<size_t>(count) * sizeof(double));
}

const double* TowerVectors::add_rows(TowerRange node, const double* rows, int64_t count,
                                     double* out, double* scratch) const {
  if (node.size() == 1) return rows + node.begin * count;
  int split = tree_split(node);
  const double* left = add_rows({node.begin, split}, rows, count, out, scratch);
  const double* right = add_rows({split, node.end}, rows, count, scratch, scratch + width_);
  for (int64_t i = 0; i < count; ++i) out[i] = left[i] + right[i];
  return out;
}

}  // namespace spire
