#include "tools/bench/prediction/communication_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/config/scalar.h"
#include "engine/process/group/process_group.h"

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
  if (model.strategy == Strategy::mirrored || members == 1) return 0;
  if (model.strategy == Strategy::sharded) return spread_seconds(model.link, members, bytes);
  double parts = static_cast<double>(members - 1) * model.link.alpha + bytes * model.link.beta;
  return parts + spread_seconds(model.link, members - 1, bytes);
}

double share_seconds(const CommunicationModel& model, double bytes) {
  return others(model.devices_per_member, bytes) * model.gamma;
}

double copy_seconds(const CommunicationModel& model, double bytes) {
  if (model.strategy == Strategy::mirrored) return 0;
  // gamma is two reads and a write, a copy one read and one write.
  return static_cast<double>(model.devices_per_member - 1) * bytes * model.gamma * 2 / 3;
}

namespace {

// alpha: seconds a step of NCCL's protocol Simple, from its own model (NCCL 2.30.7,
// src/graph/tuning.cc).
constexpr double alpha_nvlink = 3.4e-6, alpha_pcie = 5.7e-6, alpha_network = 14e-6;
constexpr double nvlink_bytes_per_s = 365e9;      // ring of 2 to 8 H100 SXM: nccl-tests, issue 212
constexpr double pcie_bytes_per_s = 31.5e9;       // PCIe 4.0 x16: 16 GT/s x 16 lanes x 128/130 / 8
constexpr double infiniband_share = 0.94;         // 47 of the 50 GB/s of an NDR port: nccl-tests
constexpr double ethernet_share = 1448.0 / 1538;  // TCP data of a frame of 1500 bytes on the wire

constexpr std::string_view allowed =
    "write nvlink, pcie, ib:400Gb, eth:100Gb (gigabits a second and device), or alpha,beta in "
    "seconds and seconds a byte (2e-6,1e-10)";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  fail(Category::config, "--link {}: {}; {}", excerpt(text), why, allowed);
}

double number_in(std::string_view text, std::string_view number) {
  try {
    return parse_number(number);
  } catch (const Error& error) {
    refuse(text, error.what());
  }
}

// Returns the bytes per second of "400Gb".
double network_bytes_per_s(std::string_view text, std::string_view rate) {
  if (!rate.ends_with("Gb")) refuse(text, "its rate is not in Gb");
  rate.remove_suffix(2);
  double gigabits = number_in(text, rate);
  if (gigabits <= 0) refuse(text, "its rate is not above 0");
  return gigabits * 1e9 / 8;
}

struct Network {
  std::string_view prefix;
  double share;  // of the nominal rate that messages reach
};
constexpr std::array<Network, 2> networks = {{{"ib:", infiniband_share}, {"eth:", ethernet_share}}};

std::optional<Link> parse_network(std::string_view text) {
  for (const auto& [prefix, share] : networks) {
    if (!text.starts_with(prefix)) continue;
    double rate = network_bytes_per_s(text, text.substr(prefix.size()));
    return Link{std::string(text), alpha_network, 1 / (share * rate)};
  }
  return std::nullopt;
}

std::optional<Link> parse_pair(std::string_view text) {
  size_t comma = text.find(',');
  if (comma == text.npos) return std::nullopt;
  Link link{std::string(text), number_in(text, text.substr(0, comma)),
            number_in(text, text.substr(comma + 1))};
  if (link.alpha < 0 || link.beta < 0) refuse(text, "a time is negative");
  return link;
}

}  // namespace

Link parse_link(std::string_view text) {
  if (text == "nvlink") return {"nvlink", alpha_nvlink, 1 / nvlink_bytes_per_s};
  if (text == "pcie") return {"pcie", alpha_pcie, 1 / pcie_bytes_per_s};
  if (auto link = parse_network(text)) return *link;
  if (auto link = parse_pair(text)) return *link;
  refuse(text, "no known link");
}

Link measure_local_link(int64_t bytes, const Repeats& repeats) {
  auto groups = threads_groups(2);
  DeviceTeam team(Kind::cpu, 2);
  auto count = static_cast<size_t>(bytes);
  std::array<std::vector<std::byte>, 2> sent, received;
  sent.fill(std::vector<std::byte>(count));
  received.fill(std::vector<std::byte>(count));
  auto seconds = [&](size_t size) {
    return team.best_seconds(repeats, [&](int lane) {
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
