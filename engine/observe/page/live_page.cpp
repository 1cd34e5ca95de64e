#include "engine/observe/page/live_page.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "engine/observe/page/page.h"

namespace spire {

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
  const std::array values = {step.loss, step.metric.value, step.samples_per_s, step.lr, step.epoch};
  for (size_t i = 0; i < values.size(); ++i)
    history_.steps[i].add(static_cast<double>(step.step), values[i]);
}

void LivePage::on_eval(const EvalReport& eval) {
  LatestState::on_eval(eval);
  std::lock_guard lock(mutex_);
  history_.evals[0].add(static_cast<double>(eval.step), eval.loss);
  history_.evals[1].add(static_cast<double>(eval.step), eval.metric.value);
}

void LivePage::on_note(std::string_view text) {
  add_message(false, text);
}

void LivePage::on_warning(std::string_view text) {
  LatestState::on_warning(text);
  add_message(true, text);
}

// An open page asks each second.
void LivePage::on_end(const RunSummary& summary) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  history_.end = {summary.exit, summary.stopped_by};
  bool is_open = std::chrono::steady_clock::now() - asked_at_ < 3s;
  lock.unlock();
  if (is_open) std::this_thread::sleep_for(1500ms);
  server_.reset();
}

void LivePage::add_message(bool warning, std::string_view text) {
  auto now = now_();
  std::lock_guard lock(mutex_);
  history_.messages.push_back({now, warning, std::string(text)});
  if (history_.messages.size() > PageHistory::max_messages) history_.messages.pop_front();
}

HttpReply LivePage::answer(std::string_view path) const {
  if (path == "/")
    return {200, "text/html; charset=utf-8",
            html_of({"live", "Spire", "Programs read the run's numbers from /state.json.", "{}"})};
  if (path != "/state.json") return {404, "text/plain; charset=utf-8", "the page is /\n"};
  PublishedState now = state();
  std::unique_lock lock(mutex_);
  PageHistory history = history_;
  asked_at_ = std::chrono::steady_clock::now();
  lock.unlock();
  return {200, "application/json", page_json(now, history, now_())};
}

}  // namespace spire
