// The schema of samples as text, which checkpoints and bundles of weights contain.
#pragma once
#include <string>

#include <spire/dataset.h>

namespace spire {

// Convert to JSON and back. Throw what require_utf8() throws, and Error(checkpoint) naming the key.
std::string to_text(const SampleSpec& spec);
SampleSpec sample_spec_from_text(const std::string& text);

// Throws Error(data) for a name or word that is not UTF-8, which JSON requires. where: begins the
// message: "animals: ", or nothing.
void require_utf8(const SampleSpec& spec, const std::string& where);

}  // namespace spire
