// The text that a language model goes on from.
#pragma once
#include <string>

#include "tools/arguments.h"

namespace spire::tool {

// --prompt; or what --prompt-file holds (-: stdin) without its last line end, at most 1 MiB; or one
// line end. Throws Error(data) naming the file that cannot be read.
std::string read_prompt(const PredictArguments& arguments);

}  // namespace spire::tool
