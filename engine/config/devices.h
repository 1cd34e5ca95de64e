// Words by which configs name devices, whether or not the machine has them. All functions are pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// Expands the value of `devices` to {"auto"}, a word of gpu_group(), or a list of single devices:
// "2xcpu" to {"cpu:0", "cpu:1"}, "cpu" to {"cpu:0"}, {"0", "2"} to {"cuda:0", "cuda:2"}, "all" to
// {"cuda"}. A GPU's UUID or the beginning of one, and a PCI bus id, are names of single devices and
// stay as they are; limits behind single devices stay, too (split_limit()). Idempotent. Throws
// Error(config) for unknown words and for a CPU device that is named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// What a word means that asks for GPUs by number, not by name, in each process of the run.
struct GpuGroup {
  std::optional<int> count;  // "2xcuda": the first two; "auto:2": two idle ones; nullopt: all
  bool idle = false;         // true: "auto:2"
};
std::optional<GpuGroup> gpu_group(std::string_view word);  // none for other words

// Returns whether `devices`, as expand_devices() returns it, can only be GPUs.
bool are_gpus(const std::vector<std::string>& devices);

// Returns whether the word names a single GPU: "cuda:1", "GPU-1b2c3d4e-..." or "MIG-..." (a UUID,
// or its beginning), "0000:3b:00.0" (PCI domain, bus, device, function; without the domain, too).
bool names_gpu(std::string_view word);

// A device of a config's list with a memory limit of its own: the word "cuda:0:8GiB", which YAML
// may also write {cuda:0: 8GiB}. Several such devices on one GPU have unequal parts of its memory.
struct LimitedDevice {
  std::string name;   // "cuda:0", "GPU-1b2c", "cpu:0"; all of the word if it has no limit
  std::string limit;  // "8GiB" or a fraction of the device's memory, "0.5"; empty: no limit given
};

// Splits a word into a name and its limit. Throws Error(config) if the limit is neither bytes with
// their unit nor a fraction, and for a limit behind a word that names no single device
// ("2xcuda:8GiB").
LimitedDevice split_limit(std::string_view word);

std::string to_word(const LimitedDevice& device);  // "cuda:0:8GiB"

// Returns the words without their limits.
std::vector<std::string> without_limits(std::vector<std::string> words);

// Returns advice if `devices` has the old form {"cpu:N"}, which means N CPU devices; else "".
std::string devices_note(const std::vector<std::string>& devices);

// Return whether the word has a form of a GPU's name other than cuda:N: "GPU-1b2c3d4e-..." or
// "MIG-..." (a UUID, or its beginning), "0000:3b:00.0" (a PCI bus id, also without the domain).
bool is_gpu_uuid(std::string_view word);
bool is_pci_bus_id(std::string_view word);

// Throws Error(config) unless `device` is auto, cpu or the name of a single device.
void check_parameter_device(const std::string& device);

}  // namespace spire
