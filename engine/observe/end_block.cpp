#include <cmath>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/observe/blocks.h"
#include "engine/observe/text_table.h"
#include "engine/observe/units.h"

namespace spire::inline observe {
namespace {

std::string validation_text(const ValidationSummary& val) {
  if (!val.measured) return "";
  return fmt::format("{}, last {} with loss {}", metric_text({val.metric.metric, val.best}),
                     metric_text(val.metric), loss_text(val.loss));
}

// Kinds that became other than planned say so.
std::string memory_text(const RunSummary& summary) {
  std::string text;
  for (const auto& [kind, bytes] : summary.peak_memory_bytes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, bytes_text(bytes));
    auto planned = summary.planned_memory_bytes.find(kind);
    if (planned != summary.planned_memory_bytes.end() && planned->second != bytes)
      text += fmt::format(" (planned {})", bytes_text(planned->second));
  }
  return text;
}

}  // namespace

std::string end_block(const RunSummary& summary) {
  Sections block;
  if (!summary.stopped_by.empty() || summary.exit != 0)
    block.add("stopped", fmt::format("{} (exit {})",
                                     summary.stopped_by.substr(0, summary.stopped_by.find('\n')),
                                     summary.exit));
  block.add(fmt::format("best {}", name(summary.val.metric.metric)), validation_text(summary.val));
  block.add("time", fmt::format("{} for {} {}, {:.4g} {}", duration_text(summary.seconds),
                                count_text(summary.steps), noun_form(summary.steps, "step"),
                                summary.epochs, summary.epochs == 1 ? "epoch" : "epochs"));
  if (summary.samples_per_s > 0)
    block.add("speed",
              fmt::format("{} samples/s", count_text(std::llround(summary.samples_per_s))));
  block.add("peak memory", memory_text(summary));
  block.add("checkpoint", summary.checkpoint);
  block.add("metrics", summary.metrics);
  block.add("output", summary.output);
  block.add("ema hash", summary.ema_hash);
  block.add("parameter hash", summary.parameter_hash);
  return block.text();
}

}  // namespace spire::inline observe
