#include "engine/device/device.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/base/fail.h"
#include "engine/device/gpu_requirements.h"

namespace spire {
namespace {

// Takes a hexadecimal number of 1 to `digits` digits from the front of text; false if there is
// none.
bool take_number(std::string_view& text, size_t digits, uint32_t& number) {
  const char* end = text.data() + std::min(text.size(), digits);
  auto [rest, error] = std::from_chars(text.data(), end, number, 16);
  if (error != std::errc() || rest == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_string(DeviceId device) {
  return fmt::format("{}:{}", device.kind == DeviceKind::cuda ? "cuda" : "cpu", device.index);
}

DeviceId parse_device(std::string_view text) {
  // "cuda" alone is "cuda:0".
  auto colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  std::string_view digits = colon == text.npos ? "0" : text.substr(colon + 1);
  DeviceId device;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  bool number = error == std::errc() && end == digits.data() + digits.size() && device.index >= 0;
  if ((kind != "cpu" && kind != "cuda") || !number) {
    fail(Category::config, "'{}' is not a device; write a name such as cpu:0 or cuda:1", text);
  }
  device.kind = kind == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
  return device;
}

void sort_and_number_gpus(std::vector<CudaDeviceInfo>& gpus, bool cudas_own) {
  auto known = [](const CudaDeviceInfo& gpu) { return gpu.host_number >= 0; };
  bool as_host = !cudas_own && std::ranges::all_of(gpus, known);
  std::ranges::sort(gpus, {}, &CudaDeviceInfo::ordinal);
  if (!cudas_own) std::ranges::stable_sort(gpus, {}, &CudaDeviceInfo::pci_bus_id);
  for (size_t i = 0; i < gpus.size(); ++i)
    gpus[i].index = as_host ? gpus[i].host_number : static_cast<int>(i);
}

std::string normal_pci_bus_id(std::string_view text) {
  bool has_domain = text.find(':') != text.rfind(':');
  uint32_t domain = 0, bus = 0, device = 0, function = 0;
  if (has_domain && !(take_number(text, 8, domain) && take(text, ':'))) return "";
  if (!take_number(text, 2, bus) || !take(text, ':') || !take_number(text, 2, device)) return "";
  if (take(text, '.') && !take_number(text, 1, function)) return "";
  if (!text.empty() || device > 31 || function > 7) return "";
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::string describe(const CudaDeviceInfo& gpu) {
  return fmt::format("cuda:{} ({}{}{}{}{})", gpu.index, gpu.name, gpu.uuid.empty() ? "" : ", ",
                     gpu.uuid, gpu.pci_bus_id.empty() ? "" : ", PCI ", gpu.pci_bus_id);
}

// A number other than 0, as NCCL reads its variables.
bool peer_access_disabled() {
  const char* value = std::getenv("NCCL_P2P_DISABLE");
  return value && std::strtoll(value, nullptr, 0) != 0;
}

void expect_precision(DeviceId device, DType dtype) {
  if (device.kind == DeviceKind::cpu) {
    if (dtype != DType::f16) return;
    fail(Category::device, "precision: fp16 is not supported on CPUs; use bf16 or fp32");
  }
  // A GPU that is not there is reported where it is first used.
  std::vector<CudaDeviceInfo> gpus = discover_cuda().devices;
  auto gpu = std::ranges::find(gpus, device.index, &CudaDeviceInfo::index);
  if (gpu == gpus.end()) return;
  if (auto problem = dtype_problem(dtype, *gpu)) fail(Category::device, "{}", *problem);
}

}  // namespace spire
