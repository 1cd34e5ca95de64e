// Descriptions of GPUs in cuDNN's JSON: cuDNN answers for them without a GPU.
#pragma once
#include <string_view>

namespace spire::testing {

inline constexpr std::string_view h100 = R"({
  "deviceName": "NVIDIA H100 80GB HBM3", "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
  "multiProcessorCount": 132, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 85029158912})";

inline constexpr std::string_view a100 = R"({
  "deviceName": "NVIDIA A100-SXM4-80GB", "cudaDeviceId": 0, "deviceVer": 800, "driverVer": 13000,
  "multiProcessorCount": 108, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 1410000,
  "memClockRateKHz": 1593000, "l2CacheSize": 41943040, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 166912,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 85029158912})";

inline constexpr std::string_view l4 = R"({
  "deviceName": "NVIDIA L4", "cudaDeviceId": 0, "deviceVer": 890, "driverVer": 13000,
  "multiProcessorCount": 58, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 2040000,
  "memClockRateKHz": 6251000, "l2CacheSize": 50331648, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 101376,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
  "maxCtasPerSM": 24, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 1536, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 23609475072})";

inline constexpr std::string_view rtx4090 = R"({
  "deviceName": "NVIDIA GeForce RTX 4090", "cudaDeviceId": 0, "deviceVer": 890, "driverVer": 13000,
  "multiProcessorCount": 128, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 2520000,
  "memClockRateKHz": 10501000, "l2CacheSize": 75497472, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 101376,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
  "maxCtasPerSM": 24, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 1536, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 25250627584})";

}  // namespace spire::testing
