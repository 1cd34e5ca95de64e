// Converted datasets have the rows of their source, however often the conversion was stopped.
#include <csignal>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/dataset_tools.h>

#include "engine/config/words.h"
#include "engine/data/sampler.h"
#include "engine/data/text/text_tokens.h"
#include "engine/data/text/token_dataset.h"
#include "tests/base/file_size_limit.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/test_files.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

// a: as it was. b: converted; it has the features that the columns of a table became.
void expect_same(const DatasetPair& a, const DatasetPair& b) {
  SampleSpec spec = a.train->spec();
  spec.table.clear();
  EXPECT_EQ(spec, b.train->spec());
  for (auto [x, y] :
       {std::pair(a.train.get(), b.train.get()), std::pair(a.test.get(), b.test.get())}) {
    ASSERT_EQ(x->count(), y->count());
    for (size_t column : {0, 1})
      EXPECT_EQ(read_all<std::byte>(*x, column), read_all<std::byte>(*y, column));
  }
}

class ConvertTest : public testing::Test {
 protected:
  ConvertTest() {
    options_.to = folder_ / "out.h5";
    options_.journal_seconds = 0;
  }
  ConvertResult convert() { return convert_dataset(config_, options_); }
  DatasetPair converted(DType dtype = DType::f32) {
    return open_dataset(data_at("hdf5", folder_ / "out.h5"), {.dtype = dtype});
  }
  DatasetPair source(DType dtype = DType::f32) {
    return open_dataset(config_.data, {.dtype = dtype});
  }
  std::string refusal(Category category) {
    return message_of(category, [&] { convert(); });
  }
  // Writes IDX files of images of 64 KiB, four of which share a checksum.
  void write_large_idx(uint32_t train = 10, uint32_t test = 3) {
    for (auto [name, count] : {std::pair("train", train), std::pair("t10k", test)}) {
      write_file(folder_ / (std::string(name) + "-images-idx3-ubyte"),
                 idx_bytes(0x803, {count, 256, 256}, pattern(size_t{count} << 16, 251)));
      write_file(folder_ / (std::string(name) + "-labels-idx1-ubyte"),
                 idx_bytes(0x801, {count}, pattern(count, 3)));
    }
    config_.data = data_at("idx", folder_.path());
  }
  void write_csv() {
    std::string text = "a,b c,kind\n";
    for (int i = 0; i < 60; ++i)
      text += fmt::format("{}.1,{},{}\n", i, 1'600'000'000.125 + i % 7, i % 3 ? "cat" : "dog");
    write_text(folder_ / "t.csv", text);
    config_.data = data_at("csv", folder_ / "t.csv");
  }
  void write_images() {
    for (const char* split : {"train", "val"})
      for (const char* kind : {"ant", "bee", "cow"}) {
        for (int64_t i = 0; i < 4; ++i)
          write_file(folder_.path() / split / kind / fmt::format("{}.jpg", i),
                     jpeg_bytes(smooth_image(40 + 3 * i, 50, i + kind[0])));
      }
    config_.data = data_at("image_folder", folder_.path());
    config_.data.image.size = 24;
  }
  std::string write_tokens_text(const std::string& text) {
    write_text(folder_ / "text.txt", text);
    config_.data.name = "tokens";
    config_.data.tokens.text = {(folder_ / "text.txt").string()};
    config_.data.tokens.length = 4;
    options_.to = folder_ / "shards";
    return text;
  }

  Folder folder_;
  RunConfig config_;
  ConvertOptions options_;
};

TEST_F(ConvertTest, ATableKeepsEveryDigit) {
  write_csv();
  ConvertResult result = convert();
  EXPECT_EQ(result.train, source().train->count());
  EXPECT_EQ(result.path, options_.to);
  expect_same(source(), converted());
  expect_same(source(DType::bf16), converted(DType::bf16));
  EXPECT_EQ(converted().train->spec().feature_names, (std::vector<std::string>{"a", "b c"}));
}

TEST_F(ConvertTest, ValuesOfATableStayValues) {
  write_csv();
  config_.data.csv.target = "a";
  write_text(folder_ / "t.csv", "a,b\n0.5,1\n0.25,2\n0.1,4\n0.2,5\n0.3,6\n0.7,7\n0.8,1\n0.9,3\n");
  config_.data.csv.test_share = 0.4;
  convert();
  expect_same(source(), converted());
  EXPECT_EQ(converted().train->spec().columns[1].name, "values");
}

TEST_F(ConvertTest, ImagesKeepTheirBytesAndStatistics) {
  write_large_idx();
  convert();
  expect_same(source(), converted());
  EXPECT_EQ(converted().train->checksums()->rows, 4);
  EXPECT_EQ(converted().train->checksums()->blocks[1].size(), 3u);
}

TEST_F(ConvertTest, AugmentationIsNotStored) {
  write_large_idx();
  config_.data.augment.flip = true;
  convert();
  config_.data.augment.flip = false;
  expect_same(source(), converted());
}

TEST_F(ConvertTest, AnHdf5FileCanBeTheSource) {
  write_csv();
  convert();
  config_.data = data_at("hdf5", options_.to);
  options_.to = folder_ / "again";
  EXPECT_EQ(convert().path, folder_ / "again" / "data.h5");
  EXPECT_EQ(file_bytes(folder_ / "again" / "data.h5"), file_bytes(folder_ / "out.h5"));
}

TEST_F(ConvertTest, ImagesSortedByClassAreShuffled) {
  write_images();
  config_.seed = 5;
  convert();
  Sampler order(12, 5);
  std::vector<int64_t> samples, rows = sequence(0, 12);
  for (int64_t row : rows) samples.push_back(order.index(0, row));
  ASSERT_NE(samples, rows);
  for (size_t column : {0, 1})
    EXPECT_EQ(read_column<std::byte>(*source().train, column, samples),
              read_column<std::byte>(*converted().train, column, rows));
  EXPECT_EQ(read_all<std::byte>(*source().test, 0), read_all<std::byte>(*converted().test, 0));
}

TEST_F(ConvertTest, ACorruptImageEndsTheConversionOrIsReplaced) {
  write_images();
  write_file(folder_.path() / "train" / "bee" / "1.jpg", {1, 2, 3});
  EXPECT_THAT(refusal(Category::data), HasSubstr("train/bee/1.jpg: sample 5"));
  config_.data.on_error = DataConfig::OnError::skip;
  options_.overwrite = true;
  ConvertResult result = convert();
  EXPECT_EQ(result.skipped, 1);
  EXPECT_THAT(result.first_problem, HasSubstr("train/bee/1.jpg: sample 5"));
}

// An object's header holds at most 64 KiB of attributes.
TEST_F(ConvertTest, LongListsOfClassesFit) {
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back(fmt::format("{:040}", i));
  std::vector<const char*> words;
  for (const std::string& name : names) words.push_back(name.c_str());
  write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<uint8_t>(part + "images", {2, 1, 1, 1}, {7, 9});
    file.put<int32_t>(part + "labels", {2}, {0, 2999});
    file.words(part + "labels", "class_names", words);
  });
  config_.data = data_at("hdf5", folder_ / "a.h5");
  convert();
  EXPECT_EQ(converted().train->spec().class_names, names);
}

TEST_F(ConvertTest, TextBecomesShardsOfTheSameTokens) {
  std::string text =
      write_tokens_text("The quick brown fox jumps over the lazy dog. ÄÖ 0123456789");
  config_.data.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  options_.shard_tokens = 20;
  ConvertResult result = convert();
  EXPECT_EQ(result.format, "tokens");
  EXPECT_EQ(result.train + result.test, std::ssize(read_text_tokens(config_.data.tokens).ids));
  EXPECT_FALSE(fs::exists(folder_ / "shards.partial"));
  EXPECT_TRUE(fs::exists(folder_ / "shards" / "train_0002.tokens"));
  DatasetPair before = source();
  config_.data.tokens.text = {};
  config_.data.path = (folder_ / "shards").string();
  expect_same(before, source());
}

TEST_F(ConvertTest, PartsOfATextGiveTheTokensOfTheWhole) {
  write_tokens_text("it's  a\n\n test \t of 'll  blanks,  <|endoftext|> and\xC3\xA9 so on  ");
  for (const char* vocabulary : {"bytes", "characters", "gpt2"}) {
    config_.data.tokens.vocabulary = *find_word<TokensConfig::Vocabulary>(vocabulary);
    config_.data.tokens.bpe_path = DATA_FOLDER "/bpe";
    TokenText text = read_token_text(config_.data.tokens);
    for (size_t bytes = 1; bytes < 12; ++bytes) {
      std::vector<int32_t> joined;
      for (size_t at = 0; at < text.text.size();) {
        size_t end = end_of_part(text, at, bytes);
        for (int32_t id : text.vocabulary->encode(text.text.substr(at, end - at)))
          joined.push_back(id);
        at = end;
      }
      EXPECT_EQ(joined, text.vocabulary->encode(text.text)) << vocabulary << " " << bytes;
    }
  }
}

// The conversion is killed (SIGKILL) when GetParam() rows are done, then repeated.
class KilledConversion : public ConvertTest, public testing::WithParamInterface<int64_t> {};

TEST_P(KilledConversion, ResumesToTheSameBytes) {
  write_large_idx();
  config_.data.workers = 2;
  options_.to = folder_ / "whole.h5";
  convert();
  options_.to = folder_ / "out.h5";
  options_.on_progress = [](const WorkProgress& progress) {
    if (progress.done >= GetParam()) raise(SIGKILL);
  };
  EXPECT_EXIT(convert(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_FALSE(fs::exists(options_.to));
  int64_t least = 13;
  options_.on_progress = [&](const WorkProgress& progress) {
    least = std::min(least, progress.done);
  };
  EXPECT_TRUE(convert().resumed);
  EXPECT_GE(least, std::min<int64_t>(GetParam(), 12));
  EXPECT_EQ(file_bytes(folder_ / "out.h5"), file_bytes(folder_ / "whole.h5"));
  EXPECT_FALSE(fs::exists(folder_ / "out.h5.journal"));
  EXPECT_FALSE(fs::exists(folder_ / "out.h5.partial"));
}

INSTANTIATE_TEST_SUITE_P(Rows, KilledConversion, testing::Values(0, 4, 8, 10, 13));

TEST_F(ConvertTest, AKilledTextConversionResumes) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += fmt::format("{} ", i);
  write_tokens_text(text);
  options_.to = folder_ / "whole";
  options_.shard_tokens = 1'000'000;
  convert();
  options_.to = folder_ / "shards";
  options_.on_progress = [](const WorkProgress& progress) {
    if (progress.done > 1 << 20) raise(SIGKILL);
  };
  EXPECT_EXIT(convert(), testing::KilledBySignal(SIGKILL), "");
  options_.on_progress = [](const WorkProgress& progress) { EXPECT_GT(progress.done, 1 << 20); };
  EXPECT_TRUE(convert().resumed);
  for (const auto& entry : fs::directory_iterator(folder_ / "whole"))
    EXPECT_EQ(file_bytes(entry.path()), file_bytes(folder_ / "shards" / entry.path().filename()));
}

TEST_F(ConvertTest, AStoppedConversionResumes) {
  write_large_idx();
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  options_.on_progress = [&](const WorkProgress& progress) { stop = progress.done >= 4; };
  EXPECT_THAT(refusal(Category::interrupted), HasSubstr("stopped by a signal at 4 of 13 rows"));
  stop = false;
  options_.on_progress = [](const WorkProgress& progress) { EXPECT_GE(progress.done, 4); };
  EXPECT_TRUE(convert().resumed);
  expect_same(source(), converted());
}

class StoppedConversion : public ConvertTest {
 protected:
  void SetUp() override {
    write_large_idx();
    std::atomic<bool> stop = true;
    options_.stop = &stop;
    refusal(Category::interrupted);
    options_.stop = nullptr;
  }
};

TEST_F(StoppedConversion, RefusesAnotherConfig) {
  config_.data.normalize = DataConfig::Normalize::unit;
  EXPECT_THAT(
      refusal(Category::data),
      HasSubstr("out.h5.partial: was started with another config, data.normalize: auto (now "
                "data.normalize: unit); delete it or add --overwrite"));
}

TEST_F(StoppedConversion, RefusesAnotherOrder) {
  options_.order = "shuffled";
  EXPECT_THAT(refusal(Category::data), HasSubstr("--order: source (now --order: shuffled"));
}

TEST_F(StoppedConversion, RefusesFilesThatHaveChanged) {
  fs::path file = folder_ / "train-labels-idx1-ubyte";
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_THAT(refusal(Category::data), HasSubstr("was started with files that have changed since"));
  options_.overwrite = true;
  EXPECT_FALSE(convert().resumed);
  expect_same(source(), converted());
}

TEST_F(StoppedConversion, IsWrittenByOneProcessAtATime) {
  EXPECT_EXIT(
      {
        options_.on_progress = [&](const WorkProgress& progress) {
          if (progress.done > 0) return;
          std::string message = refusal(Category::data);
          std::fputs(message.c_str(), stderr);
          _exit(3);
        };
        convert();
      },
      testing::ExitedWithCode(3), "out.h5.partial: another process is writing it");
}

TEST_F(ConvertTest, AnExistingFileStaysUnlessOverwritten) {
  write_csv();
  convert();
  EXPECT_THAT(refusal(Category::config), HasSubstr("out.h5: exists already"));
  options_.overwrite = true;
  EXPECT_FALSE(convert().resumed);
  expect_same(source(), converted());
}

TEST_F(ConvertTest, OnlyARegularFileIsReplacedAndItsModeKept) {
  write_csv();
  convert();
  fs::permissions(options_.to, fs::perms(0600));
  options_.overwrite = true;
  convert();
  EXPECT_EQ(fs::status(options_.to).permissions(), fs::perms(0600));
  config_.data = data_at("hdf5", options_.to);
  EXPECT_THAT(refusal(Category::config), HasSubstr("out.h5 is one of the files that are read"));
  write_csv();
  for (const char* name : {"out.h5", "out.h5.partial", "out.h5.journal"}) {
    fs::remove(folder_ / name);
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
    Category category = std::string(name) == "out.h5" ? Category::config : Category::data;
    EXPECT_THAT(refusal(category), HasSubstr(std::string(name) + ": is a FIFO"));
    fs::remove(folder_ / name);
  }
  fs::create_symlink("nowhere", folder_ / "out.h5");
  EXPECT_THAT(refusal(Category::config), HasSubstr("out.h5: is a link"));
}

TEST_F(ConvertTest, OnlyAFolderOfShardsIsReplaced) {
  write_tokens_text("some text that is long enough to be cut into two splits");
  convert();
  EXPECT_THAT(refusal(Category::config), HasSubstr("shards: exists already"));
  options_.overwrite = true;
  convert();
  write_text(folder_ / "shards" / "thesis.tex", "precious");
  EXPECT_THAT(refusal(Category::config), HasSubstr("thesis.tex: is not a token shard"));
  options_.to = folder_ / "text.txt";
  EXPECT_THAT(refusal(Category::config), HasSubstr("text.txt: is a file"));
}

TEST_F(ConvertTest, AFullDiskIsReportedWithTheBytesNeeded) {
  write_large_idx();
  {
    FileSizeLimit limit(100'000);
    EXPECT_THAT(refusal(Category::device),
                ContainsRegex("out.h5.partial: needs [0-9]+ bytes, [0-9]+ are free: "));
  }
  convert();
  expect_same(source(), converted());
}

TEST_F(ConvertTest, ShardsAreMadeFromTextOnly) {
  write_large_idx();
  options_.format = "tokens";
  EXPECT_THAT(refusal(Category::config),
              HasSubstr("--format tokens: token shards are made from text"));
  options_.format = "parquet";
  EXPECT_THAT(refusal(Category::config), HasSubstr("must be hdf5 or tokens"));
}

TEST_F(ConvertTest, SyntheticSamplesAreNotStored) {
  config_.data.name = "synthetic";
  EXPECT_THAT(refusal(Category::config), HasSubstr("are not stored"));
}

TEST_F(ConvertTest, ATextOfOneTokenHasNoTestSplit) {
  write_tokens_text("a");
  EXPECT_THAT(refusal(Category::data), HasSubstr("data.tokens.val_share: 0 of 1 tokens"));
}

TEST_F(ConvertTest, AFolderThatCannotBeCreatedIsAnError) {
  write_csv();
  options_.to = folder_ / "t.csv" / "out.h5";
  EXPECT_THAT(refusal(Category::config), HasSubstr("cannot create the folder"));
}

}  // namespace
}  // namespace spire
