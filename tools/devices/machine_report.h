// The devices of this machine and the versions of their software, as lines for people (trainer
// devices, trainer version).
#pragma once
#include <string>
#include <vector>

namespace spire {

std::string cores_line();  // the cores that this process may use

// Returns a line for each GPU that this process may use, their software's versions, and what is
// wrong with them: "problem  " ends runs on GPUs, "note     " slows them or is untested. Each has
// its remedy. Starts CUDA in this process, which may take seconds.
std::vector<std::string> gpu_lines();

// Returns whether this build has CUDA and finds GPUs, and the versions of CUDA's libraries: the
// first line a sentence, the others indented.
std::vector<std::string> cuda_software_lines();

}  // namespace spire
