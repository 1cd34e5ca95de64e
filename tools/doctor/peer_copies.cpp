#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"
#include "engine/device/stream.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using Outcome = PeerCopy::Outcome;
using Clock = std::chrono::steady_clock;

constexpr size_t numbers = size_t{4} << 20;  // of 4 bytes

const char* const avoid =
    "set NCCL_P2P_DISABLE=1 in the environment, which Spire and NCCL obey; the cause is mostly "
    "PCIe "
    "access control (ACS) or an IOMMU: turn them off in the firmware, or start the kernel with "
    "iommu=pt";

void copy_and_compare(PeerCopy& copy) {
  const DeviceId from{DeviceKind::cuda, copy.from}, to{DeviceKind::cuda, copy.to};
  if (copy.direct) connect_devices(std::array{from, to});
  constexpr size_t bytes = numbers * sizeof(uint32_t);
  std::vector<uint32_t> written(numbers), zeros(numbers), read(numbers);
  std::iota(written.begin(), written.end(), 0x9e3779b9u * static_cast<uint32_t>(copy.from + 1));
  make_current(from);
  auto stream = make_stream(from);
  auto source = allocate_memory(from, bytes), target = allocate_memory(to, bytes);
  source->write(written.data(), bytes);
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    target->write(zeros.data(), bytes);
    auto begin = Clock::now();
    stream->copy(target->data(), source->data(), bytes);
    stream->synchronize();
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    target->read(read.data(), bytes);
    copy.outcome = read == written ? Outcome::copied : Outcome::wrong;
    if (copy.outcome == Outcome::wrong) return;
  }
  copy.bytes_per_s = static_cast<double>(bytes) / std::max(seconds, 1e-9);
}

std::string pair_text(const PeerCopy& copy) {
  return fmt::format("cuda:{} to cuda:{}", copy.from, copy.to);
}

std::optional<Finding> bad(const PeerCopy& copy, double seconds) {
  std::string pair = pair_text(copy);
  switch (copy.outcome) {
    case Outcome::copied:
      return std::nullopt;
    case Outcome::untried:
      return Finding{"peer_copies", FindingLevel::warn, fmt::format("{} was not tried", pair),
                     "too many copies hung before it; solve those, then type trainer doctor again"};
    case Outcome::wrong:
      return Finding{"peer_copies", FindingLevel::fail,
                     fmt::format("{}: other data arrived than was sent", pair), avoid};
    case Outcome::hung:
      return Finding{"peer_copies", FindingLevel::fail,
                     fmt::format("{}: the copy did not end within {:g} s", pair, seconds), avoid};
    case Outcome::failed:
      break;
  }
  return Finding{"peer_copies", FindingLevel::fail, fmt::format("{}: {}", pair, copy.problem),
                 avoid};
}

std::string good_text(const PeerCopy& copy) {
  return fmt::format("cuda:{} {} {}", copy.to, rate_text(copy.bytes_per_s),
                     copy.direct ? "direct" : "through the host");
}

}  // namespace

std::vector<PeerCopy> copies_between(const std::vector<CudaDeviceInfo>& gpus) {
  PeerPairs peers = find_peers(gpus);
  std::vector<PeerCopy> copies;
  for (const CudaDeviceInfo& from : gpus) {
    for (const CudaDeviceInfo& to : gpus) {
      if (from.index == to.index) continue;
      auto [low, high] = std::minmax(from.index, to.index);
      bool direct = std::ranges::find(peers, std::pair(low, high)) != peers.end();
      copies.push_back({.from = from.index, .to = to.index, .direct = direct});
    }
  }
  return copies;
}

void start_gpus(const std::vector<PeerCopy>& copies) {
  std::set<int> gpus;
  for (const PeerCopy& copy : copies) gpus.insert({copy.from, copy.to});
  for (int gpu : gpus) {
    try {
      make_stream({DeviceKind::cuda, gpu});
    } catch (const Error&) {  // of the copies
    }
  }
}

PeerCopy try_copy(PeerCopy copy) {
  try {
    copy_and_compare(copy);
  } catch (const std::exception& error) {
    copy.outcome = Outcome::failed;
    copy.problem = error.what();
    std::ranges::replace(copy.problem, '\n', ' ');
  }
  return copy;
}

std::string to_line(const PeerCopy& copy) {
  return fmt::format("{} {} {:d} {:d} {} {}", copy.from, copy.to, copy.direct,
                     static_cast<int>(copy.outcome), copy.bytes_per_s, copy.problem);
}

std::optional<PeerCopy> read_copy(const std::string& line) {
  std::istringstream words(line);
  PeerCopy copy;
  int direct = 0, outcome = 0;
  if (!(words >> copy.from >> copy.to >> direct >> outcome >> copy.bytes_per_s)) return {};
  if (outcome < 0 || outcome > static_cast<int>(Outcome::hung)) return {};
  copy.direct = direct != 0;
  copy.outcome = static_cast<Outcome>(outcome);
  std::getline(words >> std::ws, copy.problem);
  return copy;
}

Findings check_peers(const std::vector<PeerCopy>& copies, double seconds) {
  if (copies.empty()) return {{"peer_copies", FindingLevel::ok, "fewer than two GPUs"}};
  Findings findings;
  std::map<int, Finding> rows;  // by source
  for (const PeerCopy& copy : copies) {
    if (copy.outcome != Outcome::copied) continue;
    Finding& row = rows[copy.from];
    row.topic = "peer_copies";
    row.seen += row.seen.empty() ? fmt::format("cuda:{} to ", copy.from) : ", ";
    row.seen += good_text(copy);
    row.values.emplace_back(fmt::format("cuda:{}_bytes_per_s", copy.to), copy.bytes_per_s);
  }
  for (auto& [from, row] : rows) findings.push_back(std::move(row));
  for (const PeerCopy& copy : copies)
    if (auto finding = bad(copy, seconds)) findings.push_back(*finding);
  return findings;
}

}  // namespace spire
