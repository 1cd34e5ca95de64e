#include <spire/observer.h>

namespace spire {

void ObserverList::on_start(const StartInfo& start) {
  for (auto& observer : observers_) observer->on_start(start);
}

void ObserverList::on_step(const StepReport& step) {
  for (auto& observer : observers_) observer->on_step(step);
}

void ObserverList::on_eval(const EvalReport& eval) {
  for (auto& observer : observers_) observer->on_eval(eval);
}

void ObserverList::on_test(const EvalReport& eval) {
  for (auto& observer : observers_) observer->on_test(eval);
}

void ObserverList::on_checkpoint(const CheckpointReport& checkpoint) {
  for (auto& observer : observers_) observer->on_checkpoint(checkpoint);
}

void ObserverList::on_note(std::string_view text) {
  for (auto& observer : observers_) observer->on_note(text);
}

void ObserverList::on_warning(std::string_view text) {
  for (auto& observer : observers_) observer->on_warning(text);
}

void ObserverList::on_end(const RunSummary& summary) {
  for (auto& observer : observers_) observer->on_end(summary);
}

std::string ObserverList::lost() const {
  for (const auto& observer : observers_)
    if (std::string text = observer->lost(); !text.empty()) return text;
  return "";
}

}  // namespace spire
