// The places of a list of ids, sorted by id, places of one id in their order: so gradients of rows
// that were taken by id are summed without atomics, and always in one order. For .cu files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace spire::inline kernels {

// A stable radix sort (Knuth, TAOCP 3, 5.2.5) by digits of up to 8 bits. Chunks of places count
// their digits; a scan over (digit, chunk) says where each chunk's places of a digit go.
class SortByKey {
 public:
  // places < 2^31 ids; those outside [0, values) belong nowhere.
  SortByKey(int64_t places, int64_t values);

  size_t workspace_bytes() const;

  // places[first[v]] to places[first[v + 1] - 1] are those of id v, v < values, ascending.
  struct Sorted {
    const int32_t *first, *places;
  };
  // What it returns lies in the workspace and is there for what comes later on the stream.
  Sorted sort(void* stream, const int32_t* ids, void* workspace) const;

 private:
  int64_t places_, values_;
  int64_t chunk_;  // places of a chunk
  unsigned chunks_;
  int passes_, bits_;  // bits of a digit
};

}  // namespace spire::inline kernels
