#include "engine/inference/sample_arrays.h"

#include <array>
#include <optional>
#include <utility>

#include <spire/error.h>

#include "engine/base/npy_magic.h"
#include "engine/data/formats/hdf5_check.h"
#include "engine/data/formats/hdf5_samples.h"
#include "engine/data/numpy/npy_set.h"

namespace spire::inline inference {
namespace {

namespace fs = std::filesystem;

// Throws Error(data) unless the arrays have as many rows.
void require_equal_rows(const NpyArray& input, const NpyArray& target) {
  if (input.rows() != target.rows())
    fail(Category::data, "{}: has {} rows, but {} has {}; use arrays of one set", target.location(),
         target.rows(), input.location(), input.rows());
}

class NpySamples : public SampleArrays {
 public:
  NpySamples(std::shared_ptr<const NpyArray> input, std::shared_ptr<const NpyArray> target)
      : arrays_{std::move(input), std::move(target)} {
    if (has_target()) require_equal_rows(*arrays_[0], *arrays_[1]);
  }

  bool has_target() const override { return arrays_[1] != nullptr; }
  int64_t rows() const override { return arrays_[0]->rows(); }
  StoredArray stored(size_t column) const override { return arrays_[column]->stored(); }
  std::string layout(size_t column) const override { return arrays_[column]->layout(); }
  void read(size_t column, int64_t row, DType dtype, std::byte* out) override {
    arrays_[column]->read(row, 1, dtype, memory_, out);
  }

 private:
  std::array<std::shared_ptr<const NpyArray>, 2> arrays_;
  std::vector<std::byte> memory_;  // stored bytes of a row
};

// Names of the input and of the target, "" if there is none.
struct NamesInSet {
  std::string input, target;
};

// Returns the name that the config gives an array, if the set has it; else "auto".
std::string usable(const NpySet& set, const std::string& configured) {
  return configured != "auto" && set.has(configured) ? configured : "auto";
}

NamesInSet names_in(const NpySet& set, const NpyConfig& config) {
  std::vector<std::string> all = set.names();
  for (const auto& [part, names] :
       {std::pair{Part::test, &config.test}, {Part::train, &config.train}}) {
    auto input = find_array(set, NpyRole::input, part, usable(set, names->input));
    if (!input) continue;
    auto target = find_array(set, NpyRole::target, part, usable(set, names->target));
    return {*input, target.value_or("")};
  }
  if (all.size() == 1) return {all.front(), ""};
  return {require_array(set, NpyRole::input, Part::test, "auto"), ""};  // throws
}

std::unique_ptr<SampleArrays> open_npz(const fs::path& path, const NpyConfig& config) {
  NpySet set(path);
  NamesInSet names = names_in(set, config);
  return std::make_unique<NpySamples>(set.open(names.input),
                                      names.target.empty() ? nullptr : set.open(names.target));
}

class Hdf5SampleArrays : public SampleArrays {
 public:
  Hdf5SampleArrays(const fs::path& path, const ArrayNames& names) {
    h5::Session session;
    samples_.emplace(path, names);
  }
  ~Hdf5SampleArrays() override {
    h5::Session session;
    samples_.reset();
  }

  const FileStamp& stamp() const { return samples_->stamp(); }
  bool has_target() const override { return samples_->target() != nullptr; }
  int64_t rows() const override { return samples_->input().rows(); }
  StoredArray stored(size_t column) const override {
    h5::Session session;
    return array(column).stored();
  }
  std::string layout(size_t column) const override {
    h5::Session session;
    return array(column).layout();
  }
  void read(size_t column, int64_t row, DType dtype, std::byte* out) override {
    h5::Session session;
    array(column).read(row, 1, dtype, out);
    samples_->require_unchanged();
  }
  std::vector<std::string> class_names() const override {
    h5::Session session;
    return has_target() ? array(1).words("class_names") : std::vector<std::string>();
  }
  std::vector<std::string> feature_names() const override {
    h5::Session session;
    return array(0).words("feature_names");
  }

 private:
  const Hdf5Array& array(size_t column) const {
    return column == 0 ? samples_->input() : *samples_->target();
  }

  std::optional<Hdf5Samples> samples_;
};

}  // namespace

bool is_array_file(const fs::path& path) {
  return begins_with(path, npy_magic) || is_zip(path) || is_hdf5(path);
}

std::unique_ptr<SampleArrays> open_sample_arrays(
    const fs::path& path, const DataConfig& config,
    const std::function<void(const std::string&)>& note) {
  if (is_zip(path)) return open_npz(path, config.npy);
  if (!is_hdf5(path))
    return std::make_unique<NpySamples>(std::make_shared<NpyArray>(path), nullptr);
  Hdf5CheckResult checked = check_hdf5_samples(path, config.hdf5.test);
  for (const std::string& text : checked.notes) note(text);
  auto arrays = std::make_unique<Hdf5SampleArrays>(path, config.hdf5.test);
  require_unchanged(path, checked.stamp, arrays->stamp());  // what is open is what was checked
  return arrays;
}

}  // namespace spire::inline inference
