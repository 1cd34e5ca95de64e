// What functions of <spire/c.h> share: what the opaque handles hold, how C's structs become C++'s,
// and how errors are reported: what C++ throws becomes a status, and a message that the calling
// thread keeps.
#pragma once
#include <atomic>
#include <initializer_list>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <spire/c.h>
#include <spire/dataset.h>
#include <spire/load_config.h>
#include <spire/train.h>
#include <spire/trainer.h>

#include "engine/c_api/versioned_structs.h"

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
      : trainer(std::move(made)), weights(trainer.weights()) {
    for (const spire::TrainerMemory& memory : trainer.memory()) devices.push_back(memory.device);
  }

  spire::Trainer trainer;
  std::vector<spire::WeightInfo> weights;
  std::vector<std::string> devices;  // of this process
};

namespace spire {

// Call it in a catch block: keeps the exception's message for spire_last_error() on this thread,
// and returns its status.
spire_status record_exception() noexcept;

// Words and numbers, one behind the other. libspire.so, whose exported functions alone are called
// here, does not export fail().
template <typename... Words>
std::string joined(const Words&... words) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << words);
  return text.str();
}

// Throws Error(config) with such a message.
template <typename... Words>
[[noreturn]] void refuse(const Words&... words) {
  throw Error(Category::config, joined(words...));
}

// Throws Error(config) "spire_train: config is NULL" if it is.
void refuse_null(const void* argument, std::string_view function, std::string_view name);

// An argument of a function that is a pointer. check_given() refuses NULL unless it is optional,
// and a struct with a wrong size.
struct Given {
  const void* argument;
  const char* name;
  bool optional;
  const StructSizes& sizes;
};
void check_given(const Given& given, std::string_view function);

template <typename T>
Given given(const T* argument, const char* name, bool optional = false) {
  return {argument, name, optional, sizes_of<T>};
}
#define GIVEN(argument) spire::given(argument, #argument)
#define IF_GIVEN(argument) spire::given(argument, #argument, true)

// Checks the arguments, then calls `work`. Returns SPIRE_OK, or record_exception().
template <typename Work>
spire_status call(const char* function, std::initializer_list<Given> arguments,
                  const Work& work) noexcept {
  try {
    for (const Given& each : arguments) check_given(each, function);
    work();
    return SPIRE_OK;
  } catch (...) {
    return record_exception();
  }
}

// The strings of an array of C, which is NULL only if it is empty.
std::vector<std::string> strings_of(const char* const* from, size_t count, const char* function,
                                    const char* argument);

// Throws Error(config) "spire_trainer_weight: index is 7; there are 4 weights" unless index <
// count.
void check_index(size_t index, size_t count, std::string_view function, std::string_view what);

// All throw Error(config) for NULL, and for a dtype, rank or size that does not exist. What they
// return refers to the arrays' `data`; all else is copied. owner, function and name: for messages.
DType dtype_of_c(const spire_dtype& dtype);  // C may have any number there
Shape shape_of_c(int rank, const int64_t* dims, const std::string& owner);
DataSource data_of_c(const spire_data* from, std::string_view function, const char* name);
// As many as the first array has rows.
Samples samples_of(const spire_array* arrays, size_t count, std::string_view function,
                   const std::string& name = "arrays");

// Returns numbers * rows. Throws Error(config) if `room` numbers are fewer.
size_t check_room(size_t room, int64_t numbers, int64_t rows, std::string_view function);

}  // namespace spire
