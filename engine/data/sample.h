// The schema of samples as text, which checkpoints and bundles of weights contain.
#pragma once
#include <string>

#include <spire/sample_spec.h>

namespace spire::inline data {

// Convert to JSON (invalid UTF-8 replaced) and back. Throws Error(checkpoint) naming the key.
std::string to_text(const SampleSpec& spec);
SampleSpec sample_spec_from_text(const std::string& text);

}  // namespace spire::inline data
