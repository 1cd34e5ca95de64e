// Errors of the engine as exceptions of Python, and exceptions of Python code in the engine.
#include <condition_variable>
#include <thread>
#include <utility>

#include <spire/error.h>

#include "python/core/bindings.h"

namespace spire::python {

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      nb::object type = nb::module_::import_("spire.errors").attr("of_category")(error.exit_code());
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}

void PythonError::keep() {
  std::lock_guard lock(mutex_);
  if (!first_) first_ = std::current_exception();
}

void PythonError::rethrow_if_any() {
  std::exception_ptr first;
  {
    std::lock_guard lock(mutex_);
    first = std::exchange(first_, nullptr);  // Python takes it out of the exception, once
  }
  if (first) std::rethrow_exception(first);
}

namespace {

// True once `work` has returned or thrown; what it threw.
struct Outcome {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr thrown;
};

void watch_signals(Outcome& outcome, std::atomic<bool>& stop, PythonError& errors) {
  std::unique_lock lock(outcome.mutex);
  while (!outcome.changed.wait_for(lock, std::chrono::milliseconds(50),
                                   [&] { return outcome.done; })) {
    lock.unlock();
    try {
      nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    } catch (...) {
      errors.keep();
      stop = true;
    }
    lock.lock();
  }
}

}  // namespace

void run_interruptible(const std::function<void()>& work, std::atomic<bool>& stop,
                       PythonError& errors) {
  Outcome outcome;
  {
    nb::gil_scoped_release released;
    std::thread worker([&] {
      std::exception_ptr thrown;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      std::lock_guard lock(outcome.mutex);
      outcome.thrown = thrown;
      outcome.done = true;
      outcome.changed.notify_one();
    });
    watch_signals(outcome, stop, errors);
    worker.join();
  }
  errors.rethrow_if_any();
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
}

}  // namespace spire::python
