// Structs of <spire/c.h> in the version that the caller's program was compiled with: they begin
// with their size, and a later version adds members at the end.
#pragma once
#include <cstddef>
#include <cstring>
#include <string_view>

#include <spire/c.h>

namespace spire {

struct StructSizes {
  const char* name = nullptr;  // nullptr: it has no size
  size_t first = 0;            // bytes in version 1 of the API, which each program has
  size_t newest = 0;           // bytes in this library
};

template <typename T>
inline constexpr StructSizes sizes_of = {};

// A new member lies behind the bytes of all earlier versions, not in the padding at their end.
#define VERSIONED(T, first)                                      \
  static_assert(offsetof(T, size) == 0 && sizeof(T) >= (first)); \
  template <>                                                    \
  inline constexpr StructSizes sizes_of<T> = {#T, first, sizeof(T)};
VERSIONED(spire_device, 88)
VERSIONED(spire_array, 48)
VERSIONED(spire_data, 48)
VERSIONED(spire_step, 80)
VERSIONED(spire_evaluation, 32)
VERSIONED(spire_train_options, 64)
VERSIONED(spire_summary, 128)
VERSIONED(spire_column, 32)
VERSIONED(spire_sample_spec, 48)
VERSIONED(spire_memory, 40)
VERSIONED(spire_fit_options, 48)
VERSIONED(spire_weight, 88)

// Throws Error(config) "spire_train: options->size is 0; set it to sizeof(spire_train_options)"
// unless `size` is that of a version up to this library's.
void check_size(size_t size, const StructSizes& sizes, std::string_view function,
                std::string_view name, std::string_view member);

// Checks the size of array[index], which is that of array[0].
void check_size_in_array(size_t size, size_t index, size_t first, const StructSizes& sizes,
                         std::string_view function, std::string_view array);

// A copy of a struct whose size was checked, or of none. Members that it lacks are 0.
template <typename T>
T whole(const T* from) {
  static_assert(sizes_of<T>.name != nullptr);
  T copy = {};
  if (from) std::memcpy(&copy, from, from->size);
  return copy;
}

// The same of array[index]: elements lie array->size bytes apart. Checks its size; those of the
// elements before it were checked.
template <typename T>
T whole_element(const T* array, size_t index, std::string_view function, std::string_view name) {
  const auto* bytes = reinterpret_cast<const std::byte*>(array);
  const auto* from = reinterpret_cast<const T*>(bytes + index * array->size);
  check_size_in_array(from->size, index, array->size, sizes_of<T>, function, name);
  return whole(from);
}

// Writes the members that the caller's struct has. Its size was checked; NULL: it wants none.
template <typename T>
void fill(T* to, T from) {
  static_assert(sizes_of<T>.name != nullptr);
  if (!to) return;
  from.size = to->size;
  std::memcpy(to, &from, from.size);
}

}  // namespace spire
