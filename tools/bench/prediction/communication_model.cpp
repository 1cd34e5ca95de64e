#include "tools/bench/prediction/communication_model.h"

#include <algorithm>
#include <bit>

namespace spire {
namespace {

using Strategy = RunConfig::Strategy;

// (n - 1) / n of a buffer: what one of n members has to get from the others.
double others(int64_t members, double bytes) {
  return bytes * static_cast<double>(members - 1) / static_cast<double>(members);
}

}  // namespace

double spread_seconds(const Link& link, int64_t members, double bytes) {
  return static_cast<double>(members - 1) * link.alpha + others(members, bytes) * link.beta;
}

double ring_seconds(const Link& link, double gamma, int64_t members, double bytes) {
  return 2 * spread_seconds(link, members, bytes) + others(members, bytes) * gamma;
}

double tree_seconds(const Link& link, double gamma, int64_t members, double bytes) {
  if (members == 1) return 0;
  int height = std::bit_width(static_cast<uint64_t>(members - 1));  // ceil(log2 R)
  return 2 * height * link.alpha + bytes * (2 * link.beta + gamma);
}

double bucket_seconds(const CommunicationModel& model, int64_t members, double bytes) {
  if (model.reduction == Reduction::native)
    return std::min(ring_seconds(model.link, model.gamma, members, bytes),
                    tree_seconds(model.link, model.gamma, members, bytes));
  double spread = spread_seconds(model.link, members, bytes);
  double scatter = spread + others(members, bytes) * model.gamma;
  return model.strategy == Strategy::sharded ? scatter : scatter + spread;
}

double publish_seconds(const CommunicationModel& model, int64_t members, double bytes) {
  double spread = spread_seconds(model.link, members, bytes);
  if (model.strategy == Strategy::mirrored) return 0;
  return model.strategy == Strategy::sharded ? spread : 2 * spread;
}

double share_seconds(const CommunicationModel& model, double bytes) {
  return others(model.devices_per_member, bytes) * model.gamma;
}

double copy_seconds(const CommunicationModel& model, double bytes) {
  if (model.strategy == Strategy::mirrored) return 0;
  // gamma is two reads and a write, a copy one read and one write.
  return static_cast<double>(model.devices_per_member - 1) * bytes * model.gamma * 2 / 3;
}

}  // namespace spire
