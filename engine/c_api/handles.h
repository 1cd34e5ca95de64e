// What functions of <spire/c.h> share: what the opaque handles hold, how C's structs become C++'s,
// and how errors are reported: what C++ throws becomes a status, and a message that the calling
// thread keeps.
#pragma once
#include <atomic>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <spire/c.h>
#include <spire/dataset.h>
#include <spire/load_config.h>
#include <spire/train.h>
#include <spire/trainer.h>

struct spire_config {
  spire::ResolvedConfig resolved;
};

struct spire_cancel {
  std::atomic<bool> requested = false;
  static_assert(std::atomic<bool>::is_always_lock_free);  // as signal handlers need
};

struct spire_run {
  spire::RunResult result;
};

struct spire_trainer {
  explicit spire_trainer(spire::Trainer made)
      : trainer(std::move(made)),
        columns(trainer.data().columns.size()),
        weights(trainer.weights()) {
    for (const spire::TrainerMemory& memory : trainer.memory()) devices.push_back(memory.device);
  }

  spire::Trainer trainer;
  size_t columns;
  std::vector<spire::WeightInfo> weights;
  std::vector<std::string> devices;  // of this process
};

namespace spire {

// Call it in a catch block: keeps the exception's message for spire_last_error() on this thread,
// and returns its status.
spire_status record_exception() noexcept;

// Throws Error(config) "spire_train: config is NULL" if it is.
void refuse_null(const void* argument, std::string_view function, std::string_view name);

struct Given {  // an argument that may not be NULL
  const void* argument;
  const char* name;
};
#define GIVEN(argument) \
  spire::Given {        \
    argument, #argument \
  }

// Refuses NULL for any of `given`, then calls `work`. Returns SPIRE_OK, or record_exception().
template <typename Work>
spire_status call(const char* function, std::initializer_list<Given> given,
                  const Work& work) noexcept {
  try {
    for (const Given& each : given) refuse_null(each.argument, function, each.name);
    work();
    return SPIRE_OK;
  } catch (...) {
    return record_exception();
  }
}

// Throws Error(config) "spire_trainer_weight: index is 7; there are 4 weights" unless index <
// count.
void check_index(size_t index, size_t count, std::string_view function, std::string_view what);

// All throw Error(config) for NULL, and for a dtype or rank that does not exist. The Arrays refer
// to the caller's `data`; all else is copied. owner, place: for messages, as "spire_data" and
// "train".
DType dtype_of_c(const spire_dtype& dtype);  // C may have any number there
Shape shape_of_c(int rank, const int64_t* dims, const std::string& owner);
std::vector<Array> arrays_of_c(const spire_array* arrays, size_t count, std::string_view owner,
                               const std::string& place);
DataSource data_of_c(const spire_data& data);
// Arrays that tell their shapes and dtypes, each with a row per sample.
Samples samples_of(const spire_array* arrays, size_t count, std::string_view function);

// Returns numbers * rows. Throws Error(config) if `room` numbers are fewer.
size_t check_room(size_t room, int64_t numbers, int64_t rows, std::string_view function);

}  // namespace spire
