#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <spire/metric.h>

#include "engine/observe/formatting.h"
#include "engine/observe/report_text.h"

namespace spire {
namespace {

// A labelled value of a progress line.
struct Field {
  std::string label;  // before the value
  std::string value;
  std::string unit;  // after it, as it is
  int need;          // fields with the lowest are left out first
  bool shown = true;

  size_t columns() const {
    return (label.empty() ? 0 : label.size() + 1) + value.size() + unit.size();
  }
};

// A choice of fields and of the gap between them.
struct Layout {
  size_t gap;  // blanks
  std::vector<Field> fields;

  size_t columns() const {
    size_t sum = 0;
    for (const auto& field : fields)
      if (field.shown) sum += (sum == 0 ? 0 : gap) + field.columns();
    return sum;
  }
};

// The wait for others' gradients matters for several processes, and for one from 1 % on.
bool shows_comm_wait(const StepReport& step, const LineContext& context) {
  return context.processes > 1 || step.comm_wait >= 0.01;
}

// Makes the fields from left to right. compact: short labels, for a terminal of 80 columns.
std::vector<Field> fields_of(const StepReport& step, const LineContext& context, bool compact) {
  std::string epoch = fmt::format("{:.1f}", step.epoch);
  if (context.epochs > 0 && !compact) epoch += fmt::format("/{}", context.epochs);
  // The last number is the need: the loss stays longest, the learning rate goes first.
  return {
      {compact ? "ep" : "epoch", epoch, "", 5},
      {"step", fmt::format("{}/{}", step.step, step.total_steps), "", 7},
      {"loss", loss_text(step.epoch_loss), "", 8},
      {std::string(short_name(step.epoch_metric.metric)), short_text(step.epoch_metric), "", 6},
      {"lr", fmt::format("{:.3g}", step.lr), "", 1},
      {"", fmt::format("{:.0f}", step.samples_per_s), compact ? "/s" : " samples/s", 3},
      {"data", fmt::format("{:.0f}%", 100 * step.data_wait), "", 2},
      {"comm", fmt::format("{:.0f}%", 100 * step.comm_wait), "", 2, shows_comm_wait(step, context)},
      {"skipped", fmt::format("{}", step.skipped_steps), "", 2, step.skipped_steps > 0},
      {"eta", duration_text(step.eta_seconds), "", 4}};
}

// Takes the widest layout that fits: wide, then with small gaps, then compact; as a last resort
// leaves out the least needed fields, one after another.
Layout fit(const StepReport& step, const LineContext& context, size_t width) {
  Layout layout{2, fields_of(step, context, false)};
  if (layout.columns() <= width) return layout;
  layout.gap = 1;
  if (layout.columns() <= width) return layout;
  layout.fields = fields_of(step, context, true);
  while (layout.columns() > width) {
    Field* least = nullptr;
    for (auto& field : layout.fields)
      if (field.shown && (!least || field.need < least->need)) least = &field;
    least->shown = false;
  }
  return layout;
}

// Dims by ESC[2m; ESC[22m ends that and keeps colours.
std::string dim(const std::string& text, bool colour) {
  return colour ? fmt::format("\x1b[2m{}\x1b[22m", text) : text;
}

}  // namespace

std::string progress_line(const StepReport& step, const LineContext& context, int width,
                          bool colour) {
  Layout layout = fit(step, context, static_cast<size_t>(std::max(width, 0)));
  // Escapes are added after the layout was chosen, so they do not count as columns.
  std::string line;
  for (const auto& field : layout.fields) {
    if (!field.shown) continue;
    if (!line.empty()) line.append(layout.gap, ' ');
    if (!field.label.empty()) line.append(dim(field.label, colour)).append(" ");
    line += field.value;
    if (!field.unit.empty()) line += dim(field.unit, colour);
  }
  return line;
}

std::string plain_line(const StepReport& step, const LineContext& context,
                       std::chrono::system_clock::time_point time) {
  std::string comm, skipped;
  if (shows_comm_wait(step, context)) comm = fmt::format(" comm {:.0f}%", 100 * step.comm_wait);
  if (step.skipped_steps > 0) skipped = fmt::format(" skipped {}", step.skipped_steps);
  return fmt::format(
      "{} step {}/{} epoch {:.2f} loss {} {} {} lr {:.3e} gnorm {} {:.0f} samples/s "
      "{:.1f} ms/step data {:.0f}%{}{} eta {}",
      utc_text(time), step.step, step.total_steps, step.epoch, loss_text(step.epoch_loss),
      to_string(step.epoch_metric.metric), metric_text(step.epoch_metric), step.lr,
      loss_text(step.grad_norm), step.samples_per_s, step.step_ms, 100 * step.data_wait, comm,
      skipped, duration_text(step.eta_seconds));
}

namespace {

// "loss 0.31 accuracy 92.94% top5 99.80%"
std::string values_text(const EvalReport& eval) {
  std::string text = fmt::format("loss {} {} {}", loss_text(eval.loss),
                                 to_string(eval.metric.metric), metric_text(eval.metric));
  for (const MetricValue& other : eval.others)
    text += fmt::format(" {} {}", to_string(other.metric), metric_text(other));
  return text;
}

std::string cost_text(const EvalReport& eval) {
  return fmt::format("{} samples in {:.1f} s", count_text(eval.samples), eval.seconds);
}

}  // namespace

std::string eval_line(const EvalReport& eval) {
  return fmt::format("eval step {} epoch {:.4g} {}{} {}", eval.step, eval.epoch, values_text(eval),
                     eval.best ? " best" : "", cost_text(eval));
}

std::string test_line(const EvalReport& eval) {
  return fmt::format("test of step {} {} {}", eval.step, values_text(eval), cost_text(eval));
}

std::string checkpoint_line(const CheckpointReport& checkpoint) {
  return fmt::format("checkpoint step {} {} {}", checkpoint.step, bytes_text(checkpoint.bytes),
                     checkpoint.path);
}

}  // namespace spire
