// Configs, cancelling, this machine's devices, and what C's structs describe: dtypes, shapes,
// arrays.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <spire/devices.h>

#include "engine/c_api/handles.h"

struct spire_devices {
  std::vector<spire::ListedDevice> list;
};

namespace spire {

DType dtype_of_c(const spire_dtype& dtype) {
  int number = 0;
  static_assert(sizeof number == sizeof dtype);
  std::memcpy(&number, &dtype, sizeof number);
  switch (number) {
    case SPIRE_F32:
      return DType::f32;
    case SPIRE_F64:
      return DType::f64;
    case SPIRE_U8:
      return DType::u8;
    case SPIRE_I32:
      return DType::i32;
  }
  refuse(number, " is not a spire_dtype");
}

Shape shape_of_c(int rank, const int64_t* dims, const std::string& owner) {
  if (rank < 0 || rank > Shape::max_rank)
    refuse(owner, ": rank is ", rank, "; it is 0 to ", Shape::max_rank);
  if (rank > 0) refuse_null(dims, owner, "shape");
  return Shape(std::span(dims, static_cast<size_t>(rank)));
}

namespace {

int64_t bytes_or_unknown(const std::optional<uint64_t>& bytes) {
  return bytes ? static_cast<int64_t>(*bytes) : -1;
}

Array array_of_c(const spire_array& from, const std::string& place) {
  refuse_null(from.column, place, "column");
  refuse_null(from.data, place, "data");
  Shape shape = shape_of_c(from.rank, from.shape, place);
  std::vector<int64_t> strides;
  if (from.strides) strides.assign(from.strides, from.strides + from.rank);
  return {from.column, from.data, dtype_of_c(from.dtype), shape, std::move(strides)};
}

// To: Array or ColumnRows. owner, name: for messages, as "spire_data" and "train".
template <typename To>
std::vector<To> arrays_of_c(const spire_array* arrays, size_t count, std::string_view owner,
                            const std::string& name) {
  if (count > 0) refuse_null(arrays, owner, name);
  std::vector<To> result;
  result.reserve(std::min<size_t>(count, 8));  // `count` may be wrong
  for (size_t i = 0; i < count; ++i)
    result.emplace_back(
        array_of_c(whole_element(arrays, i, owner, name), name + "[" + std::to_string(i) + "]"));
  return result;
}

}  // namespace

Samples samples_of(const spire_array* arrays, size_t count, std::string_view function,
                   const std::string& name) {
  Samples samples{arrays_of_c<ColumnRows>(arrays, count, function, name)};
  if (count == 0) return samples;
  const Shape& shape = samples.columns[0].array->shape;
  if (shape.rank() > 0) samples.count = shape[0];
  return samples;
}

size_t check_room(size_t room, int64_t numbers, int64_t rows, std::string_view function) {
  if (rows < 0) refuse(function, ": ", rows, " is not a number of rows");
  if (rows >
      std::numeric_limits<ptrdiff_t>::max() / static_cast<ptrdiff_t>(sizeof(float)) / numbers)
    refuse(function, ": no memory holds the outputs of ", rows, " rows");
  auto needed = static_cast<size_t>(numbers * rows);
  if (room < needed)
    refuse(function, ": room is ", room, "; ", numbers, " numbers are needed for each of ", rows,
           " rows");
  return needed;
}

std::vector<std::string> strings_of(const char* const* from, size_t count, const char* function,
                                    const char* argument) {
  if (count > 0) refuse_null(from, function, argument);
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    if (!from[i]) refuse(function, ": ", argument, "[", i, "] is NULL");
    strings.emplace_back(from[i]);
  }
  return strings;
}

DataSource data_of_c(const spire_data* from, std::string_view function, const char* name) {
  check_given(given(from, name), function);
  spire_data data = whole(from);
  ArrayOptions options;
  options.classes = data.classes;
  return array_source(arrays_of_c<Array>(data.train, data.train_arrays, "spire_data", "train"),
                      arrays_of_c<Array>(data.test, data.test_arrays, "spire_data", "test"),
                      options);
}

}  // namespace spire

spire_status spire_config_create(const char* yaml, const char* const* words, size_t count,
                                 spire_config** config) {
  return spire::call(__func__, {GIVEN(yaml), GIVEN(config)}, [&] {
    std::vector<std::string> overrides =
        spire::strings_of(words, count, "spire_config_create", "words");
    *config = new spire_config{spire::parse_config({{"config", yaml}}, overrides)};
  });
}

spire_status spire_config_load(const char* const* files, size_t file_count,
                               const char* const* words, size_t word_count, spire_config** config) {
  return spire::call(__func__, {GIVEN(config)}, [&] {
    *config = new spire_config{
        spire::load_config(spire::strings_of(files, file_count, "spire_config_load", "files"),
                           spire::strings_of(words, word_count, "spire_config_load", "words"))};
  });
}

void spire_config_destroy(spire_config* config) {
  delete config;
}

spire_status spire_cancel_create(spire_cancel** cancel) {
  return spire::call(__func__, {GIVEN(cancel)}, [&] { *cancel = new spire_cancel; });
}

void spire_cancel_request(spire_cancel* cancel) {
  if (cancel) cancel->requested = true;
}

void spire_cancel_destroy(spire_cancel* cancel) {
  delete cancel;
}

spire_status spire_devices_create(spire_devices** devices) {
  return spire::call(__func__, {GIVEN(devices)},
                     [&] { *devices = new spire_devices{spire::list_devices()}; });
}

spire_status spire_devices_count(const spire_devices* devices, size_t* count) {
  return spire::call(__func__, {GIVEN(devices), GIVEN(count)},
                     [&] { *count = devices->list.size(); });
}

spire_status spire_devices_get(const spire_devices* devices, size_t index, spire_device* device) {
  return spire::call(__func__, {GIVEN(devices), GIVEN(device)}, [&] {
    spire::check_index(index, devices->list.size(), "spire_devices_get", "device");
    const spire::ListedDevice& found = devices->list[index];
    spire::fill(
        device,
        {sizeof(spire_device), found.id.c_str(), found.host_number, found.name.c_str(),
         found.uuid.c_str(), found.pci_bus_id.c_str(), spire::bytes_or_unknown(found.memory_total),
         spire::bytes_or_unknown(found.memory_used), spire::bytes_or_unknown(found.memory_free),
         found.utilization.value_or(-1), found.problem.c_str()});
  });
}

void spire_devices_destroy(spire_devices* devices) {
  delete devices;
}
