#include "engine/bench/bench_report.h"

#include <fmt/format.h>

#include "engine/base/message_words.h"
#include "engine/config/words.h"

namespace spire::inline bench {

std::string to_text(const Variant& variant) {
  return fmt::format("{} {}, {}, {}, {}, {}", variant.devices, word_of(variant.kind),
                     counted(variant.processes, "process"), counted(variant.towers, "tower"),
                     word_of(variant.precision), word_of(variant.strategy));
}

}  // namespace spire::inline bench
