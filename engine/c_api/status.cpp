#include <exception>
#include <string>

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
  if (!argument) refuse(function, ": ", name, " is NULL");
}

void check_given(const Given& given, std::string_view function) {
  if (!given.optional) refuse_null(given.argument, function, given.name);
  if (given.argument && given.sizes.name)
    check_size(*static_cast<const size_t*>(given.argument), given.sizes, function, given.name,
               "->size");
}

void check_size(size_t size, const StructSizes& sizes, std::string_view function,
                std::string_view name, std::string_view member) {
  if (size > sizes.newest)
    refuse(function, ": ", name, member, " is ", size, "; set it to sizeof(", sizes.name,
           "), which is ", sizes.newest,
           " in this library: install one as new as the program's <spire/c.h>");
  if (size < sizes.first || size % alignof(size_t) != 0)
    refuse(function, ": ", name, member, " is ", size, "; set it to sizeof(", sizes.name, ")");
}

void check_size_in_array(size_t size, size_t index, size_t first, const StructSizes& sizes,
                         std::string_view function, std::string_view array) {
  check_size(size, sizes, function, array, "[" + std::to_string(index) + "].size");
  if (size != first)
    refuse(function, ": ", array, "[", index, "].size is ", size, ", but that of ", array,
           "[0] is ", first, "; set all to sizeof(", sizes.name, ")");
}

void check_index(size_t index, size_t count, std::string_view function, std::string_view what) {
  if (index < count) return;
  bool one = count == 1;
  refuse(function, ": index is ", index, "; there ", one ? "is " : "are ", count, " ", what,
         one ? "" : "s");
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
  return to_string(static_cast<spire::Category>(status)).data();  // a literal
}
