#include "machine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/fail.h"

namespace spire::emulation {

namespace {

thread_local bool in_host_function = false;

// A stream keeps its turn for that many pieces of work on average, so that streams get far apart.
constexpr uint32_t pieces_in_a_row = 16;

}  // namespace

bool Point::reached() const {
  return !stream || stream->done >= position;
}

Machine& machine() {
  static auto* machine = new Machine;  // outlives whoever frees memory at the end
  return *machine;
}

Turn::Turn() {
  refuse_if(in_host_function, cudaErrorNotPermitted);
  machine().mutex_.lock();
}

Turn::~Turn() {
  machine().mutex_.unlock();
}

Machine::Machine() {
  read_environment(*this);
  for (int i = 0; i < max_devices; ++i) {
    null_streams_[i] = std::make_shared<EmulatedStream>(EmulatedStream{.device = i});
    streams_.push_back(null_streams_[i]);
  }
}

const Stream& Machine::find(cudaStream_t handle) {
  const Stream& stream = find_to_destroy(handle);
  refuse_if_lost(stream->device);
  return stream;
}

const Stream& Machine::find_to_destroy(cudaStream_t handle) const {
  if (!handle) return null_streams_[current_device()];
  auto found = std::find_if(streams_.begin(), streams_.end(),
                            [&](const Stream& stream) { return stream.get() == handle; });
  refuse_if(found == streams_.end(), cudaErrorInvalidResourceHandle);
  return *found;
}

cudaStream_t Machine::add_stream(bool blocking) {
  streams_.push_back(std::make_shared<EmulatedStream>(
      EmulatedStream{.device = current_device(), .blocking = blocking}));
  return streams_.back().get();
}

void Machine::remove(const Stream& stream) {
  std::erase(streams_, Stream(stream));
}

Point Machine::end_of(const Stream& stream) const {
  return {stream, stream->put};
}

// The null stream's work comes after all that blocking streams were given before, and theirs after
// the null stream's.
std::vector<Point> Machine::null_stream_order(const Stream& stream) const {
  const Stream& null_stream = null_streams_[stream->device];
  if (stream != null_stream) {
    return stream->blocking ? std::vector{end_of(null_stream)} : std::vector<Point>{};
  }
  std::vector<Point> order;
  for (const Stream& other : streams_) {
    bool before = other != stream && other->device == stream->device && other->blocking;
    if (!before) continue;
    if (other->branch.capture) other->branch.capture->refuse(cudaErrorStreamCaptureImplicit);
    order.push_back(end_of(other));
  }
  return order;
}

void Machine::put(const Stream& stream, Work work, std::vector<Point> waits) {
  if (stream->branch.capture) return stream->branch.add(std::move(work));
  for (Point& point : null_stream_order(stream)) waits.push_back(std::move(point));
  std::erase_if(waits, [](const Point& point) { return point.reached(); });
  stream->tasks.push_back({std::move(work), std::move(waits)});
  ++stream->put;
}

void Machine::put_once(const Stream& stream, std::function<void()> work) {
  put(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

bool Machine::step() {
  if (draw() % pieces_in_a_row == 0) std::shuffle(streams_.begin(), streams_.end(), draw);
  auto can_run = [](const Stream& stream) {
    return !stream->busy && !stream->tasks.empty() &&
           std::ranges::all_of(stream->tasks.front().waits, &Point::reached);
  };
  auto next = std::ranges::find_if(streams_, can_run);
  if (next == streams_.end()) return false;
  run_task(Stream(*next));
  return true;
}

void Machine::run_task(const Stream& stream) {
  stream->busy = true;
  bool through = true;
  running_device_ = stream->device;
  try {
    through = lost[stream->device] || stream->tasks.front().work();
  } catch (...) {
    std::exception_ptr& failure = failures_[stream->device];
    if (!failure) failure = std::current_exception();
  }
  stream->busy = false;
  running_device_ = -1;
  if (through) {
    stream->tasks.pop_front();
    ++stream->done;
    ++pieces_done_;
  }
  changed_.notify_all();
}

void Machine::run_until(const std::function<bool()>& reached) {
  std::shuffle(streams_.begin(), streams_.end(), draw);
  while (!reached()) {
    if (step()) {
      outside(std::this_thread::yield);
    } else {
      auto busy = [](const Stream& stream) { return stream->busy; };
      require(std::ranges::any_of(streams_, busy), "streams wait for each other in vain");
      changed_.wait(mutex_);  // for a host function that another thread runs
    }
  }
}

void Machine::finish(const Stream& stream) {
  run_until([point = end_of(stream)] { return point.reached(); });
}

void Machine::finish_device(int device) {
  std::vector<Point> ends;
  for (const Stream& stream : streams_)
    if (stream->device == device) ends.push_back(end_of(stream));
  run_until([&] { return std::ranges::all_of(ends, &Point::reached); });
}

// Where others want to load meanwhile and no work gets done, they wait for each other.
void Machine::load_kernel(const void* kernel, int device) {
  if (loaded_.contains({kernel, device})) return;
  struct Loading {
    explicit Loading(Machine& m) : machine(m), locks(m.load_lock) {
      if (!locks) return;
      ++machine.loaders_;
      machine.changed_.wait(machine.mutex_, [&m] { return !m.loading_; });
      machine.loading_ = true;
    }
    ~Loading() {
      if (!locks) return;
      machine.loading_ = false;
      --machine.loaders_;
      machine.changed_.notify_all();
    }
    Machine& machine;
    const bool locks;
  } loading(*this);
  std::vector<Point> ends;
  for (const Stream& stream : streams_)
    if (stream->device == device && !stream->branch.capture) ends.push_back(end_of(stream));
  using Clock = std::chrono::steady_clock;
  auto last_progress = Clock::now();
  uint64_t seen = pieces_done_;
  bool in_vain = false;
  run_until([&] {
    if (pieces_done_ != seen || loaders_ < 2) last_progress = Clock::now();
    seen = pieces_done_;
    in_vain = Clock::now() - last_progress > std::chrono::seconds(10);
    return in_vain || std::ranges::all_of(ends, &Point::reached);
  });
  require(!in_vain,
          "a kernel is loaded while work of its device waits for another device's, which waits for "
          "a kernel to be loaded");
  loaded_.emplace(kernel, device);
}

void Machine::refuse_in_capture() {
  for (const auto& capture : captures_)
    if (capture->forbids()) capture->refuse(cudaErrorStreamCaptureUnsupported);
}

void Machine::begin(const Stream& stream, std::shared_ptr<Capture> capture) {
  stream->branch = {capture, {}};
  captures_.push_back(std::move(capture));
}

void Machine::end(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (const Stream& stream : streams_)
    if (stream->branch.capture == capture) stream->branch = {};
  std::erase(captures_, capture);
}

void Machine::settle(int device) {
  if (!failures_[device]) return;
  refuse_if(std::uncaught_exceptions() > 0, cudaErrorLaunchFailure);
  std::rethrow_exception(std::exchange(failures_[device], nullptr));
}

void Machine::outside(const std::function<void()>& function) {
  struct Outside {
    explicit Outside(std::mutex& m) : mutex(m) {
      in_host_function = true;
      mutex.unlock();
    }
    ~Outside() {
      mutex.lock();
      in_host_function = false;
    }
    std::mutex& mutex;
  } while_it_runs(mutex_);
  function();
}

}  // namespace spire::emulation
