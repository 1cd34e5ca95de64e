#include "engine/run/machine/environment.h"

#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

#include "engine/base/text.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

bool matters(std::string_view name) {
  constexpr std::string_view others[] = {"CUBLAS_WORKSPACE_CONFIG", "CUDNN_LOGLEVEL_DBG",
                                         "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES"};
  // Those of compilers and images, which no library reads.
  constexpr std::string_view folders[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_VERSION"};
  auto is_one_of = [&](const auto& names) {
    return std::ranges::find(names, name) != std::end(names);
  };
  bool prefixed = name.starts_with("NCCL_") || name.starts_with("CUDA_");
  return is_one_of(others) || (prefixed && !is_one_of(folders));
}

// Settings that are for looking for errors, and cost speed.
struct Slow {
  std::string_view name, value, effect;
};
constexpr Slow slow_settings[] = {
    {"CUDA_LAUNCH_BLOCKING", "1", "the host waits for each kernel"},
    {"NCCL_P2P_DISABLE", "1", "GPUs of a host exchange data through host memory"},
    {"NCCL_SHM_DISABLE", "1", "GPUs of a host without peer access exchange data over the network"},
    {"NCCL_IB_DISABLE", "1", "hosts exchange data over sockets, even with InfiniBand"},
    {"NCCL_DEBUG", "TRACE", "NCCL writes a line for each call"},
    {"CUDA_FORCE_PTX_JIT", "1", "the driver compiles all kernels at each start"},
};

}  // namespace

Variables gpu_variables(const char* const* environment) {
  Variables variables;
  for (; *environment; ++environment) {
    std::string_view entry = *environment;
    size_t end = entry.find('=');
    if (end == entry.npos || !matters(entry.substr(0, end))) continue;
    variables.emplace_back(entry.substr(0, end), entry.substr(end + 1));
  }
  std::ranges::sort(variables);
  return variables;
}

std::vector<std::string> nccl_files(const Variables& variables, const std::string& home,
                                    const fs::path& root) {
  std::string own = home.empty() ? "" : home + "/.nccl.conf";
  for (const auto& [name, value] : variables)
    if (name == "NCCL_CONF_FILE") own = value;
  std::vector<std::string> found;
  std::error_code error;
  for (const std::string& path : {std::string("/etc/nccl.conf"), own})
    if (!path.empty() && fs::exists(root / fs::path(path).relative_path(), error))
      found.push_back(path);
  return found;
}

std::string environment_text(const Variables& variables, const std::vector<std::string>& files) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : variables)
    parts.push_back(fmt::format("{}={}", name, printable(value)));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (files.empty()) return text;
  return fmt::format("{}{}NCCL also reads {}", text, text.empty() ? "" : "; ",
                     fmt::join(files, ", "));
}

Findings check_environment(const Variables& variables, const std::vector<std::string>& files) {
  std::string all = environment_text(variables, files);
  Findings findings = {{"environment", FindingLevel::ok,
                        all.empty() ? "no variable of NCCL or CUDA is set" : std::move(all)}};
  for (const auto& [name, value] : variables) {
    for (const Slow& slow : slow_settings) {
      if (name != slow.name || value != slow.value) continue;
      findings.push_back({"environment", FindingLevel::warn,
                          fmt::format("{}={}: {}", name, value, slow.effect),
                          fmt::format("unset {} unless you look for an error with it", name)});
    }
  }
  return findings;
}

}  // namespace spire
