// Parses the device names of a config. The machine need not have these devices.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline config {

// Expands the value of `devices` to {"auto"}, a word of gpu_group(), or a list of single devices:
// "2xcpu" to {"cpu:0", "cpu:1"}, "cpu" to {"cpu:0"}, {"0", "2"} to {"cuda:0", "cuda:2"}, "all" to
// {"cuda"}. A GPU's UUID or the beginning of one, and a PCI bus id, are names of single devices and
// stay as they are, and so do limits behind single devices (device_limit.h). Idempotent. Throws
// Error(config) for unknown words and for a CPU device that is named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// Returns advice if `devices` has the old form {"cpu:N"}, which means N CPU devices; else "".
std::string devices_note(const std::vector<std::string>& devices);

// GPUs that a word asks for without naming any, in each process of the run.
struct GpuGroup {
  std::optional<int> count;  // "2xcuda": the first two; "auto:2": two that are idle; "cuda": all
  bool idle = false;
};
std::optional<GpuGroup> gpu_group(std::string_view word);  // none for other words

// Returns whether `devices`, expanded, can only be GPUs.
bool are_gpus(const std::vector<std::string>& devices);

// Forms of a GPU's name but cuda:N: "GPU-1b2c3d4e-..." or "MIG-..." (a UUID, or its beginning), and
// "0000:3b:00.0" (PCI domain, bus, device, function; the domain may be left out).
bool is_gpu_uuid(std::string_view word);
bool is_pci_bus_id(std::string_view word);
// Returns whether the word names a single GPU.
bool names_gpu(std::string_view word);

// Throws Error(config) unless `device` is auto, cpu or the name of a single device.
void check_parameter_device(const std::string& device);

}  // namespace spire::inline config
