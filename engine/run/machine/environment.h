// Environment variables by which users steer NCCL and CUDA: what is in force, and what of it slows
// runs down.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/machine/finding.h"

namespace spire {

using Variables = std::vector<std::pair<std::string, std::string>>;  // name, value; sorted

// Returns the variables of `environment` ("NAME=value", ..., null) that matter: all of NCCL, those
// of CUDA, and others that change what its libraries compute.
Variables gpu_variables(const char* const* environment);

// Returns the configuration files of NCCL that exist; they set the same as variables:
// /etc/nccl.conf and ~/.nccl.conf, or in place of the latter the file that NCCL_CONF_FILE names.
// (NCCL user guide, "Environment Variables".) home: $HOME.
std::vector<std::string> nccl_files(const Variables& variables, const std::string& home,
                                    const std::filesystem::path& root = "/");

// Returns "NCCL_DEBUG=INFO, CUDA_VISIBLE_DEVICES=0,1; NCCL also reads /etc/nccl.conf"; empty if
// nothing is set. Control characters are escaped.
std::string environment_text(const Variables& variables, const std::vector<std::string>& files);

// Topic: environment.
Findings check_environment(const Variables& variables, const std::vector<std::string>& files);

}  // namespace spire
