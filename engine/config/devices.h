// Parses the device names of a config. The machine need not have these devices.
#pragma once
#include <string>
#include <vector>

namespace spire::inline config {

// Expands the value of `devices` to {"auto"}, {"cuda"} or a list of single devices: "2xcuda" to
// {"cuda:0", "cuda:1"}, "cpu" to {"cpu:0"}. Idempotent. Throws Error(config) for unknown words and
// for a CPU device that is named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// Returns advice if `devices` has the old form {"cpu:N"}, which means N CPU devices; else "".
std::string devices_note(const std::vector<std::string>& devices);

// Throws Error(config) unless `device` is auto, cpu or the name of a single device.
void check_parameter_device(const std::string& device);

}  // namespace spire::inline config
