// Texts of a language model, for `trainer predict`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/text_generator.h>

#include "tools/arguments.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

class TextGeneration {
 public:
  // generator, signals: outlive this.
  TextGeneration(TextGenerator& generator, const Arguments& arguments, const StopSignals& signals)
      : generator_(generator),
        signals_(signals),
        skip_unknown_(arguments.predict.unknown == "skip"),
        silent_(arguments.log_level == "error") {}

  // Both throw Error(data) for a prompt with a character that the vocabulary lacks, unless
  // --unknown is skip. Writes the prompt and what follows it, each token as soon as it is drawn.
  void write_text(const std::string& prompt, TextOutput& output) const;
  // Generates texts together, TextOptions::texts at a time, and writes a line of JSON for each
  // prompt, in the order of the prompts, as soon as its text and all before it are complete. A text
  // is that of write_text(): it does not depend on the other prompts. stream: instead writes a line
  // for each part of a text as it comes, and one at the end of each text.
  void write_texts(const std::vector<std::string>& prompts, bool stream, TextOutput& output) const;

 private:
  std::vector<int32_t> encode(const std::string& prompt) const;

  TextGenerator& generator_;
  const StopSignals& signals_;
  bool skip_unknown_;  // characters of prompts that are not in the vocabulary
  bool silent_;
};

}  // namespace spire
