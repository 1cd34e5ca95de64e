#include <spire/collective/rank_exchange.h>

#include <algorithm>
#include <cstring>

namespace spire {

RankExchange::RankExchange(const Options& options, std::vector<float*> nodes, ProcessGroup& group,
                           PhaseBoard& board, int row)
    : options_(options), nodes_(std::move(nodes)), group_(group), board_(board), row_(row) {
  size_t staged = 0;
  for (size_t b = 0; b < options_.buckets.size(); ++b) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      if (rank == group_.rank()) continue;
      size_t theirs = options_.ranks.towers[static_cast<size_t>(rank)].size();
      staged += theirs * static_cast<size_t>(slice(b).size());
    }
  }
  steps_.resize(options_.buckets.size());
  if (options_.order == Reduction::native) return;
  staging_.resize(staged);
  for (size_t b = 0; b < steps_.size(); ++b) {
    plan(b);
    plan_gather(b);
    auto scratch = static_cast<size_t>(TreeSum::chunk * (1 + steps_[b].tree->depth()));
    scratch_.resize(std::max(scratch_.size(), scratch));
  }
}

FloatRange RankExchange::slice(size_t bucket, int rank) const {
  const Share& share = options_.ranks.share[static_cast<size_t>(rank)];
  return share_of(options_.buckets[bucket], share.begin, share.end, share.of);
}

// Messages between two ranks go in the order of the sender's nodes.
void RankExchange::plan(size_t bucket) {
  Step& step = steps_[bucket];
  FloatRange own = slice(bucket);
  std::vector<TreeSum::Leaf> leaves;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const auto& theirs = options_.ranks.towers[static_cast<size_t>(rank)];
    for (size_t n = 0; n < theirs.size(); ++n) {
      if (rank == group_.rank()) {
        leaves.push_back({theirs[n], nodes_[n], 0});
        continue;
      }
      float* staged = staging_.data() + staged_;
      staged_ += static_cast<size_t>(own.size());
      leaves.push_back({theirs[n], staged, own.begin});
      step.scatter.receives.push_back(
          {rank, staged, static_cast<size_t>(own.size()) * sizeof(float)});
    }
    if (rank == group_.rank()) continue;
    FloatRange part = slice(bucket, rank);
    for (float* node : nodes_) {
      step.scatter.sends.push_back(
          {rank, node + part.begin, static_cast<size_t>(part.size()) * sizeof(float)});
    }
  }
  step.tree = std::make_unique<TreeSum>(options_.order, TowerRange{0, options_.towers}, leaves);
}

void RankExchange::plan_gather(size_t bucket) {
  if (options_.to == SumsTo::slice_owners) return;
  Exchange& gather = steps_[bucket].gather;
  auto bytes = [](FloatRange range) { return static_cast<size_t>(range.size()) * sizeof(float); };
  float* sums = nodes_[0];
  FloatRange own = slice(bucket);
  bool everyone = options_.to == SumsTo::everyone;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    FloatRange part = slice(bucket, rank);
    if (everyone || rank == 0) gather.sends.push_back({rank, sums + own.begin, bytes(own)});
    if (everyone || group_.rank() == 0)
      gather.receives.push_back({rank, sums + part.begin, bytes(part)});
  }
}

void RankExchange::reduce(size_t bucket) {
  board_.enter(row_, Phase::bucket, static_cast<int64_t>(bucket));
  if (options_.order == Reduction::native) {
    FloatRange all = options_.buckets[bucket];
    board_.enter(row_, Phase::waiting, static_cast<int64_t>(bucket));
    group_.all_reduce(nodes_[0] + all.begin, all.size());
  } else {
    run(bucket, steps_[bucket].scatter);
    sum_slice(bucket);
    run(bucket, steps_[bucket].gather);
  }
  board_.enter(row_, Phase::idle);
}

// Through scratch: the result's place may be any leaf's.
void RankExchange::sum_slice(size_t bucket) {
  FloatRange own = slice(bucket);
  float* scratch = scratch_.data();
  for (int64_t begin = own.begin; begin < own.end; begin += TreeSum::chunk) {
    int64_t count = std::min(TreeSum::chunk, own.end - begin);
    const float* sum = steps_[bucket].tree->sum(begin, count, scratch, scratch + TreeSum::chunk);
    std::memmove(nodes_[0] + begin, sum, static_cast<size_t>(count) * sizeof(float));
  }
}

void RankExchange::run(size_t bucket, const Exchange& exchange) {
  if (exchange.sends.empty() && exchange.receives.empty()) return;
  board_.enter(row_, Phase::waiting, static_cast<int64_t>(bucket));
  group_.exchange(exchange.sends, exchange.receives);
  board_.enter(row_, Phase::bucket, static_cast<int64_t>(bucket));
}

}  // namespace spire
