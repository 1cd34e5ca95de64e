// The words that name devices in a config. Which of them this machine has is not asked here.
#pragma once
#include <string>
#include <vector>

namespace spire {

// Brings the value of `devices` to its plain form: {"auto"}, {"cuda"}, or a list of single devices
// ({"cpu:0", "cpu:1"}, {"cuda:3"}). One "cpu:N" alone is N CPU devices, "cpu" is one.
// Applying it twice changes nothing. Throws Error(config): unknown words, one CPU device named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// auto, cpu, cpu:N or cuda:N; throws Error(config) otherwise.
void check_parameter_device(const std::string& device);

}  // namespace spire
