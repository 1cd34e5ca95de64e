// What the opaque handles of <spire/c.h> hold.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include <spire/c.h>
#include <spire/dataset.h>
#include <spire/load_config.h>
#include <spire/train.h>

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

namespace spire {

DType dtype_of_c(spire_dtype dtype);  // throws Error(config) for other values
Shape shape_of_c(int rank, const int64_t* dims, const std::string& owner);  // likewise
// owner, place: for messages, such as "spire_data" and "train".
std::vector<Array> arrays_of_c(const spire_array* arrays, size_t count, std::string_view owner,
                               const std::string& place);
DataSource data_of_c(const spire_data& data);

}  // namespace spire
