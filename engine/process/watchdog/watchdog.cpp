#include "engine/process/watchdog/watchdog.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "engine/base/system_limits.h"
#include "engine/base/thread.h"
#include "engine/process/watchdog/control_channel.h"
#include "engine/process/watchdog/watchdog_logic.h"

namespace spire::inline process {
namespace {

using Clock = std::chrono::steady_clock;

Socket event_counter() {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) fail(Category::device, "cannot make an eventfd: {}", system_reason(errno));
  return Socket(descriptor);
}

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

// The thread around WatchdogLogic: it sleeps until a message, a call or a time comes.
class Watchdog::Impl {
 public:
  Impl(Options options, std::vector<ControlLink> links);
  ~Impl();

  void watch(const ThreadStatus* board, const WatchdogLimits& limits);
  Failure fail(const Failure& mine);
  std::optional<Failure> failure() const;
  void leave();

 private:
  struct Link {
    int rank;
    ControlChannel channel;
    bool lost = false;  // and the logic knows
  };

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void wake();
  // The thread's own:
  void run();
  void serve();
  void look(int milliseconds);
  void sleep_until(double time);
  void hear(double now);
  bool obey(double now);
  bool link_ended() const;
  void end_links(double now);
  bool publish(double now);
  void set_verdict(const Failure& verdict);
  void see_out();
  void outlast_rank_0(Clock::time_point end);

  const Options options_;
  const Clock::time_point start_ = Clock::now();
  const Socket wake_ = event_counter();

  // The thread's alone.
  std::vector<Link> links_;
  std::vector<pollfd> polled_;  // wake_, then links_; a closed link's descriptor is -1: never ready
  WatchdogLogic logic_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  const ThreadStatus* board_ = nullptr;
  std::optional<WatchdogLimits> limits_;  // new ones
  std::vector<Failure> reported_;         // by fail(), not yet taken up
  bool leaving_ = false, stopping_ = false;
  std::optional<Failure> verdict_;
  Clock::time_point failed_at_;
  bool settled_ = false;  // verdict or end of the run: known, and told

  std::jthread thread_;  // last: starts when all else stands
};

Watchdog::Impl::Impl(Options options, std::vector<ControlLink> links)
    : options_(std::move(options)),
      polled_(links.size() + 1),
      logic_(options_.rank, options_.self, views_of(links),
             [this](int rank, const ControlMessage& message) {
               for (Link& link : links_)
                 if (link.rank == rank) link.channel.send(message);
             }) {
  for (ControlLink& link : links)
    links_.push_back({link.rank, ControlChannel(std::move(link.socket))});
  thread_ = start_thread({"watch", options_.cores}, [this] { run(); });
}

Watchdog::Impl::~Impl() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  wake();
  thread_.join();
}

// A full counter is as awake as can be: a failed write is none.
void Watchdog::Impl::wake() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.descriptor(), &one, sizeof one);
}

// The thread reads the board under the mutex: after this it knows only the new one.
void Watchdog::Impl::watch(const ThreadStatus* board, const WatchdogLimits& limits) {
  {
    std::lock_guard lock(mutex_);
    board_ = board;
    limits_ = limits;
  }
  wake();
}

// The thread bounds the waiting: it settles with `mine` when it hears nothing from rank 0.
Failure Watchdog::Impl::fail(const Failure& mine) {
  std::unique_lock lock(mutex_);
  if (!verdict_) reported_.push_back(mine);
  wake();
  changed_.wait(lock, [this] { return verdict_ && settled_; });
  return *verdict_;
}

std::optional<Failure> Watchdog::Impl::failure() const {
  std::lock_guard lock(mutex_);
  return verdict_;
}

void Watchdog::Impl::leave() {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  wake();
  changed_.wait(lock, [this] { return settled_; });
}

void Watchdog::Impl::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    Failure failure;
    failure.category = Category::unexpected;
    failure.rank = options_.rank;
    failure.text = fmt::format("{}: the watch failed: {}", options_.self, error.what());
    set_verdict(failure);
  }
  see_out();
}

void Watchdog::Impl::serve() {
  for (;;) {
    sleep_until(logic_.wake_at(seconds()));
    // The time is read before the links are: what lies there has come by then, so that a process
    // that was stopped does not take its own absence for the others' silence.
    double now = seconds();
    hear(now);
    if (!obey(now)) return;
    if (publish(now)) return;
  }
}

void Watchdog::Impl::look(int milliseconds) {
  polled_[0] = {wake_.descriptor(), POLLIN, 0};
  for (size_t i = 0; i < links_.size(); ++i) {
    const ControlChannel& channel = links_[i].channel;
    auto events = static_cast<short>(channel.backlog() ? POLLIN | POLLOUT : POLLIN);
    polled_[i + 1] = {channel.descriptor(), events, 0};
  }
  if (poll(polled_.data(), polled_.size(), milliseconds) < 0)
    for (pollfd& entry : polled_) entry.revents = 0;
}

void Watchdog::Impl::sleep_until(double time) {
  look(static_cast<int>(std::ceil(std::clamp(time - seconds(), 0.0, 1.0) * 1000)));
}

void Watchdog::Impl::hear(double now) {
  look(0);
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

// Takes up the calls since the last time; false when the watch ends.
bool Watchdog::Impl::obey(double now) {
  std::vector<PhaseRow> rows;
  std::vector<Failure> reported;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    if (board_) rows = board_->read();
    if (limits_) logic_.set_limits(*limits_, now);
    limits_.reset();
    if (leaving_ && !logic_.leaving()) logic_.leave();
    reported.swap(reported_);
  }
  // A failure is told together with what this rank was at when it came, not at its last turn.
  if (!reported.empty() || link_ended()) logic_.turn(rows, now);
  end_links(now);
  for (const Failure& failure : reported) logic_.report(failure, now);
  logic_.turn(std::move(rows), now);
  return true;
}

bool Watchdog::Impl::link_ended() const {
  return std::any_of(links_.begin(), links_.end(),
                     [](const Link& link) { return !link.channel.open() && !link.lost; });
}

void Watchdog::Impl::end_links(double now) {
  for (Link& link : links_) {
    if (link.channel.open() || link.lost) continue;
    link.lost = true;
    logic_.lost(link.rank, link.channel.ending(), now);
  }
}

void Watchdog::Impl::set_verdict(const Failure& verdict) {
  {
    std::lock_guard lock(mutex_);
    if (verdict_) return;
    verdict_ = verdict;
    failed_at_ = Clock::now();
  }
  if (options_.release) options_.release();
}

// Whether all is said: the run has failed, and the others know.
bool Watchdog::Impl::publish(double now) {
  if (logic_.verdict()) set_verdict(*logic_.verdict());
  std::lock_guard lock(mutex_);
  settled_ = logic_.settled(now);
  if (settled_) changed_.notify_all();
  return logic_.verdict() && settled_;
}

// The grace period: whoever has not left by its end hangs.
void Watchdog::Impl::see_out() {
  std::unique_lock lock(mutex_);
  if (!verdict_) return;
  settled_ = true;
  changed_.notify_all();
  auto grace = std::chrono::duration<double>(std::clamp(options_.grace_seconds, 0.0, 1e6));
  auto end = failed_at_ + std::chrono::duration_cast<Clock::duration>(grace);
  bool left = changed_.wait_until(lock, end, [this] { return stopping_; });
  lock.unlock();
  if (left) return outlast_rank_0(end);
  if (options_.on_hang) options_.on_hang(*verdict_);
}

// A launcher that sees one rank end kills the others, and rank 0 has to tell of the failure. A rank
// that is cut off cannot know: it tells at once, for its own launcher may give up rank 0's host.
void Watchdog::Impl::outlast_rank_0(Clock::time_point end) {
  if (options_.rank == 0 || links_.empty() || logic_.cut_off()) return;
  while (links_.front().channel.open() && Clock::now() < end) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    look(static_cast<int>(std::clamp<int64_t>(left, 0, 1000)));
    hear(seconds());
  }
}

Watchdog::Watchdog(Options options, std::vector<ControlLink> links)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(links))) {}

Watchdog::~Watchdog() = default;

void Watchdog::watch(const ThreadStatus* board, const WatchdogLimits& limits) {
  impl_->watch(board, limits);
}

Failure Watchdog::fail(Failure mine) {
  return impl_->fail(mine);
}

std::optional<Failure> Watchdog::failure() const {
  return impl_->failure();
}

void Watchdog::leave() {
  impl_->leave();
}

}  // namespace spire::inline process
