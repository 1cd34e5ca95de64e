#include "engine/publish/page/live_page.h"

#include <utility>

#include <fmt/format.h>

namespace spire::inline publish {

LivePage::LivePage(const ListenAddress& address, Say note, Say warn, WallClock now)
    : LatestState(now), note_(std::move(note)), warn_(std::move(warn)), now_(std::move(now)) {
  server_.emplace(address, "monitor.serve", [this](std::string_view path) { return answer(path); });
}

LivePage::~LivePage() {
  server_.reset();  // its thread reads the state
}

void LivePage::on_start(const StartInfo& start) {
  LatestState::on_start(start);
  note_(fmt::format("live page: {}/", server_->url()));
  if (server_->seen_by_others())
    warn_("monitor.serve: other machines can read the run's page; it asks for no password");
}

void LivePage::on_step(const StepReport& step) {
  LatestState::on_step(step);
  std::lock_guard lock(mutex_);
  history_.steps.add({static_cast<double>(step.step), step.loss, step.metric.value,
                      step.samples_per_s, step.lr, step.epoch});
}

void LivePage::on_eval(const EvalReport& eval) {
  LatestState::on_eval(eval);
  std::lock_guard lock(mutex_);
  history_.evals.add({static_cast<double>(eval.step), eval.loss, eval.metric.value});
}

void LivePage::on_note(std::string_view text) {
  add_message(false, text);
}

void LivePage::on_warning(std::string_view text) {
  LatestState::on_warning(text);
  add_message(true, text);
}

void LivePage::on_end(const RunSummary&) {
  server_.reset();
}

void LivePage::add_message(bool warning, std::string_view text) {
  auto now = now_();
  std::lock_guard lock(mutex_);
  history_.messages.push_back({now, warning, std::string(text)});
  if (history_.messages.size() > PageHistory::max_messages) history_.messages.pop_front();
}

HttpReply LivePage::answer(std::string_view path) const {
  if (path == "/") return {200, "text/html; charset=utf-8", std::string(page_html)};
  if (path != "/state.json") return {404, "text/plain; charset=utf-8", "the page is /\n"};
  PublishedState now = state();
  std::unique_lock lock(mutex_);
  PageHistory history = history_;
  lock.unlock();
  return {200, "application/json", page_json(now, history, now_())};
}

}  // namespace spire::inline publish
