#include <exception>
#include <string>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/c_api/handles.h"

namespace spire {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

spire_status record(Category category, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();  // no memory for it
  }
  return static_cast<spire_status>(category);
}

}  // namespace

spire_status record_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return record(error.category(), error.what());
  } catch (const std::bad_alloc&) {
    return record(Category::out_of_memory, "no memory");
  } catch (const std::exception& error) {
    return record(Category::unexpected, error.what());
  } catch (...) {
    return record(Category::unexpected, "an exception of unknown type");
  }
}

void refuse_null(const void* argument, std::string_view function, std::string_view name) {
  if (!argument) fail(Category::config, "{}: {} is NULL", function, name);
}

void check_index(size_t index, size_t count, std::string_view function, std::string_view what) {
  if (index < count) return;
  fail(Category::config, "{}: index is {}; there {} {}", function, index, count == 1 ? "is" : "are",
       counted(static_cast<int64_t>(count), what));
}

}  // namespace spire

int spire_c_api_version(void) {
  return SPIRE_C_API_VERSION;
}

const char* spire_version(void) {
  return SPIRE_VERSION;
}

const char* spire_last_error(void) {
  return spire::last_error().c_str();
}

const char* spire_status_name(spire_status status) {
  if (status == SPIRE_OK) return "ok";
  return name(static_cast<spire::Category>(status)).data();  // a literal
}
