// --help-config: every key with type, default, range and meaning.
#pragma once
#include "engine/config/schema.h"

namespace spire::inline config {

std::string config_help();

}  // namespace spire::inline config
