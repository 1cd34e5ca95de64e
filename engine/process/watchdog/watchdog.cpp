#include "engine/process/watchdog/watchdog.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/thread.h"

namespace spire {
namespace {

std::vector<RankView> views_of(const std::vector<ControlLink>& links) {
  std::vector<RankView> views;
  for (const ControlLink& link : links) {
    RankView view;
    view.rank = link.rank;
    view.name = link.peer;
    views.push_back(view);
  }
  return views;
}

}  // namespace

Watchdog::Watchdog(Options options, std::vector<ControlLink> links)
    : options_(std::move(options)),
      polled_(links.size() + 1),
      logic_(options_.rank, options_.self, views_of(links),
             [this](int rank, const ControlMessage& message) {
               for (Link& link : links_)
                 if (link.rank == rank) link.channel.send(message);
             }) {
  for (ControlLink& link : links)
    links_.push_back({link.rank, ControlChannel(std::move(link.socket))});
  thread_ = start_thread({"watchdog", options_.cores}, [this] { run(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  wake();
  thread_.join();
}

// The thread reads `status_` under the mutex, so the caller may destroy the former one after this.
void Watchdog::watch(const ThreadStatus* status, const TimeoutConfig& limits) {
  {
    std::lock_guard lock(mutex_);
    status_ = status;
    limits_ = limits;
  }
  wake();
}

// The wait is bounded by the logic, which settles for `mine` if rank 0 stays silent.
Failure Watchdog::fail(const Failure& mine) {
  std::unique_lock lock(mutex_);
  if (!run_failure_) reported_.push_back(mine);
  wake();
  changed_.wait(lock, [this] { return run_failure_ && settled_; });
  return *run_failure_;
}

std::optional<Failure> Watchdog::failure() const {
  std::lock_guard lock(mutex_);
  return run_failure_;
}

void Watchdog::leave() {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  wake();
  changed_.wait(lock, [this] { return settled_; });
}

void Watchdog::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    Failure failure;
    failure.category = Category::unexpected;
    failure.rank = options_.rank;
    failure.text = fmt::format("{}: the watchdog failed: {}", options_.self, error.what());
    set_run_failure(failure);
  }
  await_exit();
}

void Watchdog::serve() {
  for (;;) {
    sleep_until(logic_.wake_at(seconds()));
    // The clock is read before the links: all messages that arrived while this process was stopped
    // are received at `now`, so it does not take its own absence for the silence of the others.
    double now = seconds();
    receive(now);
    if (!take_calls(now)) return;
    if (publish(now)) return;
  }
}

// Polls wake_ and all links; a backlog also waits for room to send.
void Watchdog::poll_links(int milliseconds) {
  polled_[0] = {wake_.descriptor(), POLLIN, 0};
  for (size_t i = 0; i < links_.size(); ++i) {
    const ControlChannel& channel = links_[i].channel;
    auto events = static_cast<short>(channel.backlog() ? POLLIN | POLLOUT : POLLIN);
    polled_[i + 1] = {channel.descriptor(), events, 0};
  }
  if (poll(polled_.data(), polled_.size(), milliseconds) < 0)  // a signal: nothing is known
    for (pollfd& entry : polled_) entry.revents = 0;
}

// At most a second: wake_at() may be infinite.
void Watchdog::sleep_until(double time) {
  poll_links(static_cast<int>(std::ceil(std::clamp(time - seconds(), 0.0, 1.0) * 1000)));
}

void Watchdog::receive(double now) {
  poll_links(0);
  uint64_t calls;
  [[maybe_unused]] ssize_t taken = read(wake_.descriptor(), &calls, sizeof calls);
  std::vector<ControlMessage> messages;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!polled_[i + 1].revents) continue;
    messages.clear();
    links_[i].channel.flush();
    links_[i].channel.receive(messages);
    for (const ControlMessage& message : messages) logic_.receive(links_[i].rank, message, now);
  }
}

// Passes the calls of other threads to the logic and lets it act; false if the watchdog ends.
bool Watchdog::take_calls(double now) {
  std::vector<PhaseRow> rows;
  std::vector<Failure> reported;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    if (status_) rows = status_->read();
    if (limits_) logic_.set_limits(*limits_, now);
    limits_.reset();
    if (leaving_ && !logic_.leaving()) logic_.leave();
    reported.swap(reported_);
  }
  // A turn first: a failure is reported with the phases of now, not with those of the last turn.
  if (!reported.empty() || link_ended()) logic_.turn(rows, now);
  end_links(now);
  for (const Failure& failure : reported) logic_.report(failure, now);
  logic_.turn(std::move(rows), now);
  return true;
}

bool Watchdog::link_ended() const {
  return std::any_of(links_.begin(), links_.end(),
                     [](const Link& link) { return !link.channel.open() && !link.lost; });
}

// Reports links that have ended, after their last messages: these may name the cause.
void Watchdog::end_links(double now) {
  for (Link& link : links_) {
    if (link.channel.open() || link.lost) continue;
    link.lost = true;
    logic_.lost(link.rank, link.channel.ending(), now);
  }
}

void Watchdog::set_run_failure(const Failure& failure) {
  {
    std::lock_guard lock(mutex_);
    if (run_failure_) return;
    run_failure_ = failure;
    failed_at_ = Clock::now();
  }
  // Outside the mutex: the callback may take other locks.
  if (options_.release) options_.release();
}

// Makes the logic's state visible to other threads; true if the run has failed and the others know.
bool Watchdog::publish(double now) {
  if (logic_.run_failure()) set_run_failure(*logic_.run_failure());
  std::lock_guard lock(mutex_);
  settled_ = logic_.settled(now);
  if (settled_) changed_.notify_all();
  return logic_.run_failure() && settled_;
}

// Waits for ~Watchdog after a failure. A process that is not there by the end of the grace
// period hangs.
void Watchdog::await_exit() {
  std::unique_lock lock(mutex_);
  if (!run_failure_) return;
  // Also after an exception in serve(): fail() and leave() must return.
  settled_ = true;
  changed_.notify_all();
  auto grace = std::chrono::duration<double>(std::clamp(options_.grace_seconds, 0.0, 1e6));
  auto end = failed_at_ + std::chrono::duration_cast<Clock::duration>(grace);
  bool left = changed_.wait_until(lock, end, [this] { return stopping_; });
  lock.unlock();
  if (left) return outlive_rank_0(end);
  if (options_.on_exit_timeout) options_.on_exit_timeout(*run_failure_);
}

// Waits for rank 0 to end first. A launcher kills the other ranks when one ends, and rank 0 is the
// one that prints the failure. A rank that is cut off cannot know about rank 0 and ends at once.
void Watchdog::outlive_rank_0(Clock::time_point end) {
  if (options_.rank == 0 || links_.empty() || logic_.cut_off()) return;
  while (links_.front().channel.open() && Clock::now() < end) {
    poll_links(std::min(milliseconds_until(end), 1000));
    receive(seconds());
  }
}

}  // namespace spire
