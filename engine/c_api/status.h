// How functions of <spire/c.h> report errors: what C++ throws becomes a status, and a message that
// the calling thread keeps.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include <spire/c.h>

namespace spire {

// Call it in a handler: records the exception that is being handled.
spire_status record_exception() noexcept;

// Throws Error(config) "spire_train: config is NULL".
void refuse_null(const void* argument, std::string_view function, std::string_view name);

struct Given {  // an argument that may not be NULL
  const void* argument;
  const char* name;
};
#define GIVEN(argument) \
  spire::Given {        \
    argument, #argument \
  }

// Refuses what is NULL, then calls `work`. Returns SPIRE_OK, or records what was thrown.
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

// Throws Error(config) "spire_trainer_weight: index is 7; there are 4 weights".
void check_index(size_t index, size_t count, std::string_view function, std::string_view what);

}  // namespace spire
