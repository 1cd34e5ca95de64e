// The name by which a run is told from others on one screen.
#pragma once
#include <string>

#include <spire/observer.h>

namespace spire {

std::string job_name(const StartInfo& start);  // the last folder of its output: "cifar10_resnet20"

}  // namespace spire
