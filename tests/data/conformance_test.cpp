// What every format of datasets must do alike. What a format says in particular is in its own test.
#include <numeric>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <unistd.h>

#include <spire/dataset_tools.h>

#include "engine/data/dataset_table.h"
#include "tests/data/every_format.h"
#include "tests/data/numbered.h"
#include "tests/inference/input_files.h"
#include "tests/long_tests.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

namespace fs = std::filesystem;
using OnError = DataConfig::OnError;

class Conformance : public testing::TestWithParam<Format> {
 protected:
  DatasetPair open_it(int64_t spoilt = -1, OnError on_error = OnError::stop) {
    config_ = GetParam().make(folder_.path(), spoilt);
    config_.on_error = on_error;
    return open_dataset(config_, {});
  }
  fs::path file_of(int64_t sample) const { return folder_ / GetParam().file(sample); }

  Folder folder_;
  DataConfig config_;
};

// All columns of some samples, or of all.
std::vector<std::vector<std::byte>> rows_of(const Dataset& data,
                                            const std::vector<int64_t>& samples) {
  SampleBuffer rows;
  rows.read(data, samples);
  return rows.columns;
}
std::vector<std::vector<std::byte>> rows_of(const Dataset& data) {
  return rows_of(data, sequence(0, data.count()));
}
std::vector<std::vector<std::byte>> row_of(const Dataset& data, int64_t sample) {
  return rows_of(data, {sample});
}

// What opening and reading all of the training data refuse; empty: nothing.
std::string refusal_of(const DataConfig& config) {
  try {
    DatasetPair data = open_dataset(config, {});
    rows_of(*data.train);
    return "";
  } catch (const Error& error) {
    EXPECT_THAT(error.category(), AnyOf(Category::data, Category::config)) << error.what();
    return error.what();
  }
}

// Sets the time back, so that later writes have another one, however coarse the clock is.
void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

TEST_P(Conformance, SamplesAreTheSameAloneAndTogetherInAnyOrder) {
  DatasetPair data = open_it();
  for (const Dataset* part : {data.train.get(), data.test.get()}) {
    std::vector<int64_t> samples = sequence(0, part->count());
    std::vector<std::vector<std::byte>> together = rows_of(*part, samples);
    std::ranges::reverse(samples);
    std::vector<std::vector<std::byte>> reversed = rows_of(*part, samples);
    for (int64_t sample : samples) {
      std::vector<std::vector<std::byte>> alone = row_of(*part, sample);
      for (size_t c = 0; c < alone.size(); ++c) {
        auto bytes = std::ssize(alone[c]), at = sample * bytes;
        EXPECT_TRUE(std::ranges::equal(alone[c], std::span(together[c]).subspan(at, bytes)));
        EXPECT_TRUE(std::ranges::equal(
            alone[c], std::span(reversed[c]).subspan((part->count() - 1 - sample) * bytes, bytes)));
      }
    }
  }
}

TEST_P(Conformance, LabelsAreThoseOfTheSamples) {
  DatasetPair data = open_it();
  if (data.train->spec().find("labels") == nullptr) return;
  EXPECT_EQ(data.train->count(), train_samples);
  EXPECT_EQ(data.test->count(), test_samples);
  std::vector<int32_t> labels(7);
  data.train->read_labels(2, labels);
  EXPECT_EQ(labels, read_column<int32_t>(*data.train, 1, {2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(read_all<int32_t>(*data.train, 1), format_parts[0].labels());
  EXPECT_EQ(read_all<int32_t>(*data.test, 1), format_parts[1].labels());
}

// Of stored images: crops where they have a size, else flips.
void augment(DataConfig& config) {
  if (open_dataset(config, {}).train->spec().columns[0].name != "images") return;
  config.augment.flip = true;
  config.augment.random_resized_crop = config.image.size > 0;
}

TEST_P(Conformance, BatchesDoNotDependOnTheNumberOfReaders) {
  config_ = GetParam().make(folder_.path(), -1);
  augment(config_);
  config_.workers = 3;
  std::vector<std::byte> first;
  for (int64_t workers : {0, 1, 3}) {
    DatasetPair data = open_dataset(config_, {});
    std::vector<std::byte> all = batches_of(*data.train, options_of(2, 2, workers));
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << workers << " workers";
  }
}

// By seed and epoch, and not in test data or in copies.
TEST_P(Conformance, TrainingDataAloneIsAugmented) {
  DatasetPair plain = open_it();
  augment(config_);
  if (config_.augment == AugmentConfig()) GTEST_SKIP() << "there are no stored images";
  DatasetPair data = open_dataset(config_, {}), again = open_dataset(config_, {});
  DatasetPair other = open_dataset(config_, {.seed = 9});
  std::vector<int64_t> samples = sequence(0, data.train->count());
  auto images = [&](const DatasetPair& pair, int64_t epoch) {
    return read_column<std::byte>(*pair.train, 0, samples, epoch);
  };
  EXPECT_EQ(images(data, 1), images(again, 1));
  EXPECT_NE(images(data, 1), images(data, 0));
  EXPECT_NE(images(data, 1), images(other, 1));
  EXPECT_EQ(rows_of(*data.test), rows_of(*plain.test));
  EXPECT_EQ(rows_of(*open_dataset(config_, {.as_evaluation = true}).train, samples),
            rows_of(*plain.train, samples));
}

// It is named, or the next one of its part takes its place.
TEST_P(Conformance, ASampleThatCannotBeReadIsNamedOrLeftOut) {
  if (!GetParam().is(spoils)) GTEST_SKIP() << "a damaged file is refused as a whole";
  constexpr int64_t spoilt = 5;
  {
    DatasetPair data = open_it(spoilt);
    EXPECT_THAT(message_of(Category::data, [&] { row_of(*data.train, spoilt); }),
                HasAll(file_of(spoilt).string(), "sample 5: ", "data.on_error: skip"));
    EXPECT_EQ(data.train->skipped(), 0);
  }
  RunConfig run;
  run.data = config_;
  VerifyResult verified = verify_dataset(run, {});
  EXPECT_EQ(verified.train.bad, 1);
  EXPECT_THAT(verified.train.problems, testing::ElementsAre(HasSubstr("sample 5: ")));
  EXPECT_EQ(verified.test.bad, 0);
  for (bool parted : {false, true}) {
    DatasetPair data = open_it(spoilt, OnError::skip);
    std::vector<bool> held_out(train_samples);
    if (parted) held_out[6] = true, data.train->set_held_out(held_out);
    EXPECT_EQ(row_of(*data.train, spoilt), row_of(*data.train, parted ? 7 : 6));
    rows_of(*data.train);
    EXPECT_EQ(data.train->skipped(), 1);
    EXPECT_THAT(data.train->problems(), testing::ElementsAre(HasSubstr("sample 5: ")));
    rows_of(*data.test);
    EXPECT_EQ(data.test->skipped(), 0);
  }
}

struct Change {
  std::function<void(const fs::path& path)> make;
  const char* says;  // of a file that is kept open
};
const std::vector<Change> changes = {
    {[](const fs::path& path) { write_file(path, {}); }, "now 0"},
    {[](const fs::path& path) { fs::resize_file(path, 64); }, "now 64"},
    {[](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); }, "bytes, now"},
    {[](const fs::path& path) { fs::resize_file(path, fs::file_size(path) + 4096); }, "bytes, now"},
    {[](const fs::path& path) { write_file(path, file_bytes(path)); }, "it was written"},
    {[](const fs::path& path) { write_file(path, Bytes(fs::file_size(path))); }, "it was written"},
};

// Whatever is done with samples that cannot be read.
TEST_P(Conformance, AFileThatChangesEndsTheRunByItsName) {
  if (!GetParam().is(kept_open) && !GetParam().is(opened_again))
    GTEST_SKIP() << "its files are read when a run starts";
  bool reopens = GetParam().is(opened_again);
  for (const Change& change : changes)
    for (OnError on_error : {OnError::stop, OnError::skip}) {
      config_ = GetParam().make(folder_.path(), -1);
      config_.on_error = on_error;
      fs::path path = file_of(train_samples - 1);
      make_old(path);
      DatasetPair data = open_dataset(config_, {});
      row_of(*data.train, reopens ? train_samples - 1 : 0);
      change.make(path);
      EXPECT_THAT(
          message_of(Category::data, [&] { row_of(*data.train, train_samples - 1); }),
          HasAll(path.string(), "changed while the run reads it", reopens ? "" : change.says));
      EXPECT_EQ(data.train->skipped(), 0);
    }
}

// A file that is replaced by renaming, or gone, does not affect a run that has it open. A run that
// opens the name again finds another file.
TEST_P(Conformance, AFileThatIsReplacedIsAnotherOne) {
  if (!GetParam().is(kept_open) && !GetParam().is(opened_again))
    GTEST_SKIP() << "its files are read when a run starts";
  for (bool gone : {false, true}) {
    config_ = GetParam().make(folder_.path(), -1);
    fs::path path = file_of(train_samples - 1);
    make_old(path);
    DatasetPair data = open_dataset(config_, {});
    auto before = row_of(*data.train, train_samples - 1);
    Bytes other = file_bytes(path);
    other.back() ^= 1;
    write_file(folder_ / "new", other);
    gone ? fs::remove(path) : (fs::rename(folder_ / "new", path), true);
    if (GetParam().is(opened_again)) {
      EXPECT_THAT(message_of(Category::data, [&] { row_of(*data.train, train_samples - 1); }),
                  HasAll(path.string(), "changed while the run reads it"));
    } else {
      EXPECT_EQ(row_of(*data.train, train_samples - 1), before);
    }
  }
}

// Another time of reading, of linking or of permissions is no change.
TEST_P(Conformance, ChangesAreThoseOfContentsAlone) {
  DatasetPair data = open_it();
  auto before = rows_of(*data.train);
  fs::path path = file_of(train_samples - 1);
  file_bytes(path);
  fs::permissions(path, fs::perms::owner_read);
  fs::create_hard_link(path, folder_ / "link");
  EXPECT_EQ(rows_of(*data.train), before);
}

// Never does one crash the reader.
TEST_P(Conformance, EveryTruncationIsRefusedByNameOrReadAsItIs) {
  config_ = GetParam().make(folder_.path(), -1);
  fs::path path = file_of(0);
  Bytes whole = file_bytes(path);
  const size_t every_byte = 64, step = long_tests() ? 3 : 257;  // at both ends, and between
  for (size_t length = 0; length < whole.size(); ++length) {
    if (std::min(length, whole.size() - length) > every_byte && length % step != 0) continue;
    write_file(path, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    std::string refused = refusal_of(config_);
    if (!GetParam().is(shows_cuts)) continue;
    EXPECT_THAT(refused, HasSubstr(path.string())) << length << " bytes";
  }
}

// Root may read anything, so as root the test becomes nobody for the time of the reading.
std::string refusal_by_nobody(const DataConfig& config) {
  bool root = geteuid() == 0;
  EXPECT_EQ(root ? seteuid(65534) : 0, 0);
  std::string refused = refusal_of(config);
  EXPECT_EQ(root ? seteuid(0) : 0, 0);
  return refused;
}

TEST_P(Conformance, PathsThatAreNoFilesAreNamed) {
  if (GetParam().is(lists_files)) GTEST_SKIP() << "such names are no files of the dataset";
  config_ = GetParam().make(folder_.path(), -1);
  fs::permissions(folder_.path(), fs::perms(0755));
  std::vector<fs::path> files = open_dataset(config_, {}).train->files();
  for (const fs::path& path : files) {
    auto expect_named = [&](const std::string& refused, const testing::Matcher<std::string>& says) {
      EXPECT_THAT(refused, AllOf(AnyOf(HasSubstr(path.string()), HasSubstr(config_.path)), says));
      GetParam().make(folder_.path(), -1);
    };
    fs::permissions(path, fs::perms::none);
    std::string refused = refusal_by_nobody(config_);
    fs::permissions(path, fs::perms::owner_all);
    expect_named(refused, HasAll("Permission denied", "chmod"));
    fs::remove(path);
    expect_named(refusal_of(config_), testing::Ne(""));
    fs::remove(path);
    fs::create_symlink(folder_ / "nowhere", path);
    refused = refusal_of(config_);
    fs::remove(path);
    expect_named(refused, testing::Ne(""));
    fs::remove(path);
    fs::create_directory(path);
    refused = refusal_of(config_);
    fs::remove(path);
    expect_named(refused, testing::Ne(""));
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);  // opening it would wait for ever
    refused = refusal_of(config_);
    fs::remove(path);
    expect_named(refused, AnyOf(HasSubstr("is a FIFO, not a regular file"), HasSubstr("no .npz")));
  }
}

TEST(PathAuto, IsRefusedWithAdviceWhereNothingCanBeSearched) {
  int64_t refusing = 0;
  for (const DatasetEntry& entry : dataset_table) {
    if (entry.paths.empty()) continue;
    ++refusing;
    EXPECT_THAT(open_refusal(data_at(std::string(entry.name), "auto"), Category::config),
                HasSubstr(fmt::format("data.path: auto does not work for data.name: {}; set "
                                      "data.path to {}",
                                      entry.name, entry.paths)));
  }
  EXPECT_EQ(refusing, 7);
}

// Rows of an HDF5 file that is made of the data are its samples, whatever they were.
TEST_P(Conformance, AConvertedDatasetHasTheSameSamples) {
  RunConfig run;
  run.data = GetParam().make(folder_.path(), -1);
  DatasetPair source = open_dataset(run.data, {.as_evaluation = true});
  ConvertOptions options;
  options.to = folder_ / "converted.h5";
  options.order = "source";
  options.format = "hdf5";
  ConvertResult result = convert_dataset(run, options);
  EXPECT_EQ(result.train, source.train->count());
  EXPECT_EQ(result.test, source.test->count());
  run.data = data_at("hdf5", options.to);
  DatasetPair converted = open_dataset(run.data, {});
  SampleSpec spec = source.train->spec();
  spec.table.clear();  // its columns became features
  EXPECT_EQ(converted.train->spec(), spec);
  EXPECT_EQ(rows_of(*converted.train, sequence(0, source.train->count())), rows_of(*source.train));
  EXPECT_EQ(rows_of(*converted.test, sequence(0, source.test->count())), rows_of(*source.test));
  VerifyResult verified = verify_dataset(run, {});
  EXPECT_TRUE(verified.good());
  EXPECT_EQ(verified.train.rows, source.train->count());
  EXPECT_GE(verified.train.checksums, 2);
}

// The same bits as an evaluation during training reads.
TEST_P(Conformance, InputsToPredictForAreReadAsTheTestSplit) {
  if (GetParam().inputs == nullptr) GTEST_SKIP() << "its samples are no inputs of predictions";
  config_ = GetParam().make(folder_.path(), -1);
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::unique_ptr<Dataset> test = std::move(open_dataset(config_, {.dtype = dtype}).test);
    std::vector<std::byte> stored = rows_of(*test)[0];
    std::vector<float> expected(stored.size() / size_of(dtype));
    copy_floats(stored.data(), dtype, expected);
    for (int64_t batch : {1, 4, 64}) {
      std::vector<float> all;
      ReadInputs inputs =
          read_inputs({(folder_ / GetParam().inputs).string()}, test->spec(), config_, true, batch);
      for (const auto& row : inputs.rows) all.insert(all.end(), row.begin(), row.end());
      EXPECT_EQ(all, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Conformance, testing::ValuesIn(every_format()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace spire
