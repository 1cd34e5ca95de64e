// --help-config: every key with type, default, range and meaning.
#pragma once
#include <spire/config/schema.h>

namespace spire {

std::string config_help();

}  // namespace spire
