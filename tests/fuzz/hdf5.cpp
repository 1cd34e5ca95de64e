// Fuzz target of HDF5 files as datasets: undamaged files of any layout, which hdf5_recipe.h makes
// from the bytes. Compares the numbers read with those that libhdf5 reads. Damage: hdf5_file.cpp.
#include <algorithm>
#include <cstring>

#include "engine/data/dataset_table.h"
#include "engine/data/formats/hdf5_table.h"
#include "tests/data/test_files.h"
#include "tests/fuzz/hdf5_recipe.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

constexpr int64_t max_samples = 32;       // read from the start and from the end
constexpr int64_t max_numbers = 1 << 16;  // of a column that is compared

// Returns a whole column in its type in memory; empty if it is too long or libhdf5 cannot read it.
template <typename T>
std::vector<T> whole(const std::filesystem::path& path, const char* name, const Dataset& dataset,
                     size_t column, hid_t type) {
  int64_t count = dataset.count() * dataset.spec().columns[column].shape.elements();
  if (count > max_numbers) return {};
  std::vector<T> values(static_cast<size_t>(count));
  h5::Session session;
  h5::Handle file = open_hdf5_file(path);
  h5::Handle all(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, "open it again");
  if (H5Dread(all, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) return {};
  return values;
}

// Returns features as the reader normalizes them.
std::vector<float> normalized(const std::vector<double>& values, const Normalization& by) {
  std::vector<float> result;
  for (size_t i = 0; i < values.size(); ++i) {
    size_t f = i % by.mean.size();
    result.push_back(static_cast<float>((values[i] - by.mean[f]) / by.stddev[f]));
  }
  return result;
}

struct Expected {
  std::vector<float> features, values;
  std::vector<int32_t> tokens, targets;
};

Expected expected_of(const std::filesystem::path& path, size_t split, const Dataset& dataset) {
  const auto& columns = dataset.spec().columns;
  const char *input = hdf5_names[2 * split], *target = hdf5_names[2 * split + 1];
  Expected expected;
  if (columns[0].name == "features") {
    auto stored = whole<double>(path, input, dataset, 0, H5T_NATIVE_DOUBLE);
    expected.features = normalized(stored, dataset.spec().normalization);
  }
  if (columns[0].name == "tokens")
    expected.tokens = whole<int32_t>(path, input, dataset, 0, H5T_NATIVE_INT32);
  if (columns[1].name == "values") {
    expected.values = whole<float>(path, target, dataset, 1, H5T_NATIVE_FLOAT);
  } else {
    expected.targets = whole<int32_t>(path, target, dataset, 1, H5T_NATIVE_INT32);
  }
  return expected;
}

template <typename T>
void compare(const std::vector<T>& all, int64_t sample, const std::vector<T>& row) {
  if (all.empty()) return;
  const T* stored = all.data() + static_cast<size_t>(sample) * row.size();
  require(std::memcmp(stored, row.data(), row.size() * sizeof(T)) == 0,
          "sample {} is another than the file's", sample);
}

// Requires that a sample is read as it is stored, or refused.
void check_sample(const Dataset& dataset, int64_t sample, const Expected& expected) {
  const auto& columns = dataset.spec().columns;
  parse_or_refuse(Category::data, [&] {
    if (columns[0].dtype == DType::i32) {
      compare(expected.tokens, sample, read_column<int32_t>(dataset, 0, {sample}));
    } else {
      compare(expected.features, sample, read_column<float>(dataset, 0, {sample}));
    }
    if (columns[1].dtype == DType::f32) {
      compare(expected.values, sample, read_column<float>(dataset, 1, {sample}));
      return;
    }
    auto classes = read_column<int32_t>(dataset, 1, {sample});
    for (int32_t label : classes)
      require(label >= 0 && label < dataset.spec().classes, "label {} of {}", label,
              dataset.spec().classes);
    compare(expected.targets, sample, classes);
  });
}

void check(const std::filesystem::path& path, size_t split, const Dataset& dataset) {
  require(dataset.count() >= 1, "{} samples", dataset.count());
  require(dataset.chunk() >= 1 && dataset.chunk() <= dataset.count(), "chunks of {} of {} samples",
          dataset.chunk(), dataset.count());
  parse_or_refuse(Category::data, [&] { dataset.checksums(); });
  dataset.layout();
  Expected expected = expected_of(path, split, dataset);
  int64_t some = std::min(max_samples, dataset.count());
  for (int64_t i = 0; i < some; ++i) {
    check_sample(dataset, i, expected);
    check_sample(dataset, dataset.count() - 1 - i, expected);
  }
}

// Errors of the config are refusals, too: chunks may be too large for data.hdf5.cache_mib.
int open_and_check(const std::filesystem::path& path, const DataConfig& config) {
  int data = refused;
  int settings = parse_or_refuse(Category::config, [&] {
    data = parse_or_refuse(Category::data, [&] {
      DatasetPair pair = open_hdf5(config, {});
      check(path, 0, *pair.train);
      check(path, 1, *pair.test);
    });
  });
  return settings == refused ? refused : data;
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(nullptr, 0);
  Choices choices(data, size);
  DataConfig config;
  config.path = file.path().string();
  config.hdf5.cache_mib = 16;
  uint8_t asked = choices.byte();
  config.shuffle = (asked & 1) != 0 ? DataConfig::Shuffle::full : DataConfig::Shuffle::automatic;
  write_hdf5(file.path(), (asked & 2) != 0, choices);
  int verdict = open_and_check(file.path(), config);
  config.hdf5.task = TargetKind::values;  // floating-point numbers called labels
  return verdict == refused ? open_and_check(file.path(), config) : verdict;
}

std::vector<Bytes> seeds() {
  return hdf5_seeds();
}

}  // namespace spire::fuzz
