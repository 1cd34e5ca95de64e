// Configs, cancelling, this machine's devices, and what C's structs describe: dtypes, shapes,
// arrays.
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <spire/devices.h>

#include "engine/base/fail.h"
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
  fail(Category::config, "{} is not a spire_dtype", number);
}

Shape shape_of_c(int rank, const int64_t* dims, const std::string& owner) {
  if (rank < 0 || rank > Shape::max_rank)
    fail(Category::config, "{}: rank is {}; it is 0 to {}", owner, rank, Shape::max_rank);
  if (rank > 0) refuse_null(dims, owner, "shape");
  return Shape(std::span(dims, static_cast<size_t>(rank)));
}

std::vector<Array> arrays_of_c(const spire_array* arrays, size_t count, std::string_view owner,
                               const std::string& place) {
  if (count > 0) refuse_null(arrays, owner, place);
  std::vector<Array> result;
  for (size_t i = 0; i < count; ++i) {
    const spire_array& from = arrays[i];
    std::string each = fmt::format("{}[{}]", place, i);
    refuse_null(from.column, each, "column");
    refuse_null(from.data, each, "data");
    Shape shape = shape_of_c(from.rank, from.shape, each);
    std::vector<int64_t> strides;
    if (from.strides) strides.assign(from.strides, from.strides + from.rank);
    result.push_back({from.column, from.data, dtype_of_c(from.dtype), shape, strides});
  }
  return result;
}

Samples samples_of(const spire_array* arrays, size_t count, std::string_view function) {
  Samples samples;
  for (const Array& array : arrays_of_c(arrays, count, function, "arrays"))
    samples.columns.emplace_back(array);
  if (count > 0 && arrays[0].rank > 0) samples.count = arrays[0].shape[0];
  return samples;
}

size_t check_room(size_t room, int64_t numbers, int64_t rows, std::string_view function) {
  if (rows < 0) fail(Category::config, "{}: count is {}", function, rows);
  if (rows >
      std::numeric_limits<ptrdiff_t>::max() / static_cast<ptrdiff_t>(sizeof(float)) / numbers)
    fail(Category::config, "{}: no memory holds the outputs of {} rows", function, rows);
  auto needed = static_cast<size_t>(numbers * rows);
  if (room < needed)
    fail(Category::config, "{}: room is {}; {} numbers are needed for each of {} rows", function,
         room, numbers, rows);
  return needed;
}

namespace {

// The strings of an array of C, which is NULL only if it is empty.
std::vector<std::string> strings_of(const char* const* from, size_t count, const char* function,
                                    const char* argument) {
  if (count > 0) refuse_null(from, function, argument);
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    refuse_null(from[i], function, fmt::format("{}[{}]", argument, i));
    strings.emplace_back(from[i]);
  }
  return strings;
}

int64_t bytes_or_unknown(const std::optional<uint64_t>& bytes) {
  return bytes ? static_cast<int64_t>(*bytes) : -1;
}

}  // namespace

DataSource data_of_c(const spire_data& data) {
  ArrayOptions options;
  options.classes = data.classes;
  return array_source(arrays_of_c(data.train, data.train_arrays, "spire_data", "train"),
                      arrays_of_c(data.test, data.test_arrays, "spire_data", "test"), options);
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
    *device = {found.id.c_str(),
               found.host_number,
               found.name.c_str(),
               found.uuid.c_str(),
               found.pci_bus_id.c_str(),
               spire::bytes_or_unknown(found.memory_total),
               spire::bytes_or_unknown(found.memory_used),
               spire::bytes_or_unknown(found.memory_free),
               found.utilization.value_or(-1),
               found.problem.c_str()};
  });
}

void spire_devices_destroy(spire_devices* devices) {
  delete devices;
}
