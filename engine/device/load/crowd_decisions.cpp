#include "engine/device/load/crowd_decisions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "engine/base/crowded.h"

namespace spire {
namespace {

constexpr size_t window = 3;     // readings that a load is the mean of
constexpr int quiet_enough = 3;  // decisions

// Cores' worth by which a load must differ before teams that share cores move again.
constexpr double clearly = 0.25;

}  // namespace

// A team cannot have a part of a core. So where less than half a core is missing, each thread keeps
// its own.
int cores_left(double others, int threads, int cores) {
  if (!crowded(others, threads, cores)) return 0;
  int left = std::max(1, static_cast<int>(std::lround(cores - others)));
  return left < std::min(threads, cores) ? left : 0;
}

CrowdDecisions::CrowdDecisions(int threads, std::vector<int> cores, Time::duration pause)
    : threads_(threads), cores_(std::move(cores)), pause_(pause), mean_(cores_.size()) {}

double CrowdDecisions::newest() const {
  double sum = 0;
  for (size_t r = readings_.size() - window; r < readings_.size(); ++r)
    for (double core : readings_[r]) sum += core;
  return sum / window;
}

void CrowdDecisions::take_mean() {
  std::ranges::fill(mean_, 0.0);
  for (const std::vector<double>& reading : readings_)
    for (size_t c = 0; c < mean_.size(); ++c)
      mean_[c] += reading[c] / static_cast<double>(readings_.size());
  readings_.clear();
  most_ = 0;
}

std::optional<int> CrowdDecisions::add(std::span<const double> others, int shared, Time now) {
  readings_.emplace_back(others.begin(), others.end());
  if (shared == 0 && readings_.size() > window) readings_.erase(readings_.begin());
  if (readings_.size() < window) return std::nullopt;
  most_ = shared > 0 ? std::max(most_, newest()) : newest();
  if (now < next_) return std::nullopt;

  auto cores = static_cast<int>(cores_.size());
  int left = cores_left(most_ + (shared > 0 ? clearly : 0.0), threads_, cores);
  if (shared == 0 && left == 0) return std::nullopt;
  // Of many cores one more or less is not worth a move.
  if (left > 0 && std::abs(left - shared) < shared / 8) left = shared;
  bool more = shared > 0 && (left == 0 || left > shared);
  quiet_ = more ? quiet_ + 1 : 0;
  take_mean();
  next_ = now + pause_;
  if (more && quiet_ < quiet_enough) return shared;
  quiet_ = 0;
  return left;
}

std::vector<int> CrowdDecisions::emptiest(const std::vector<int>& held) const {
  std::map<int, double> load;
  for (size_t c = 0; c < cores_.size(); ++c) load[cores_[c]] = mean_[c];
  for (int core : held) load[core] -= clearly;
  std::vector<int> order = cores_;
  std::ranges::stable_sort(order, {}, [&](int core) { return load[core]; });
  return order;
}

}  // namespace spire
