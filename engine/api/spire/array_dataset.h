// Datasets in the memory of the calling program: arrays, or a function that writes samples.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <spire/dataset.h>
#include <spire/device_id.h>
#include <spire/dtype.h>
#include <spire/export.h>
#include <spire/shape.h>

namespace spire {

// An array of samples. Column (see sample_spec.h) tells which names models know.
struct Array {
  std::string column;          // "images", "labels" or another of sample_spec.h
  const void* data = nullptr;  // on the host; on a GPU with `device`
  DType dtype = DType::f32;    // of `data`: f32, f64, u8 or i32; for images u8 stands for x / 255
  Shape shape;                 // (N, row): (N, H, W, C), (N, F), (N, T), (N)
  // Elements from one index of each axis to the next; empty: dense, the last axis is contiguous.
  std::vector<int64_t> strides = {};
  // cuda:N: `data` is on that GPU, complete; it is copied to the host when the dataset is made.
  DeviceId device = {};
};

template <typename T>
concept ArrayNumber = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, uint8_t>;

// Class and token numbers are int32_t or uint8_t: convert those of 64 bits.
template <ArrayNumber T>
Array array(std::string column, const T* data, Shape shape, std::vector<int64_t> strides = {}) {
  return {std::move(column), data, dtype_of<T>::value, shape, std::move(strides)};
}

struct ArrayOptions {
  // Number of classes, for tokens without labels the vocabulary's size; 0: the largest number + 1.
  int64_t classes = 0;
  std::vector<std::string> class_names = {};
  Normalization normalization = {};  // recorded in checkpoints; the values are taken as they are
  // Whether the dataset copies the arrays when it is made; else they outlive it unchanged. The
  // datasets of an array_source() are made when the run opens its data.
  bool copy = false;
};

// Returns a dataset of the arrays, which are read in place. Images and features become read.dtype.
// Throws Error(data) for arrays of different N, for none, for a shape that does not suit the
// column, labels out of range, positions that are not those of packed documents, or an array that
// is null.
SPIRE_API std::unique_ptr<Dataset> array_dataset(const std::vector<Array>& arrays,
                                                 const ArrayOptions& options = {},
                                                 const ReadOptions& read = {});
// The data of a run from arrays; without test arrays, evaluations read the training data.
SPIRE_API DataSource array_source(std::vector<Array> train, std::vector<Array> test = {},
                                  ArrayOptions options = {});

// Writes one sample: column c to rows[c], values of spec.columns[c].dtype. Called by several
// threads at a time; a function of (sample, epoch) alone, so that runs repeat.
using ReadSample =
    std::function<void(int64_t sample, int64_t epoch, const std::vector<std::byte*>& rows)>;

// Returns a dataset of `count` samples that `read` writes; what it throws ends the run.
SPIRE_API std::unique_ptr<Dataset> function_dataset(SampleSpec spec, int64_t count,
                                                    ReadSample read);

}  // namespace spire
