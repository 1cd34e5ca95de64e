// Parquet and Arrow files as tables and as documents, written by Apache Arrow.
#include <cmath>
#include <fstream>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/float16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "engine/data/dataset_table.h"
#include "engine/data/tables/record_reader.h"
#include "engine/data/text/text_tokens.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
T taken(arrow::Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return std::move(result).ValueOrDie();
}

void expect_ok(const arrow::Status& status) {
  ASSERT_TRUE(status.ok()) << status.ToString();
}

// nullopt: a null.
template <typename Builder, typename T>
std::shared_ptr<arrow::Array> array_of(const std::vector<std::optional<T>>& values) {
  Builder builder;
  for (const auto& value : values) expect_ok(value ? builder.Append(*value) : builder.AppendNull());
  return taken(builder.Finish());
}

std::shared_ptr<arrow::Array> words(const std::vector<std::optional<std::string>>& values) {
  return array_of<arrow::StringBuilder>(values);
}

using Columns = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

std::shared_ptr<arrow::Table> table_of(const Columns& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

// In batches of two rows; the name decides the format.
void write_table(const std::filesystem::path& path, const Columns& columns, bool stream = false) {
  auto table = table_of(columns);
  auto file = taken(arrow::io::FileOutputStream::Open(path.string()));
  if (path.extension() == ".parquet") {
    expect_ok(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 2));
  } else {
    auto writer = taken(stream ? arrow::ipc::MakeStreamWriter(file, table->schema())
                               : arrow::ipc::MakeFileWriter(file, table->schema()));
    expect_ok(writer->WriteTable(*table, 2));
    expect_ok(writer->Close());
  }
  expect_ok(file->Close());
}

std::vector<std::string> texts(const CsvRecord& record) {
  std::vector<std::string> all;
  for (const CsvField& field : record.fields) all.push_back(field.text);
  return all;
}

class ArrowTest : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path file() const { return folder_ / ("table." + GetParam()); }
  std::string refusal() {
    return message_of(Category::data, [&] {
      auto reader = open_arrow_records(file());
      for (CsvRecord record; reader->next(record);) {
      }
    });
  }

  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Formats, ArrowTest, testing::Values("parquet", "arrow", "feather"),
                         [](const auto& test) { return test.param; });

TEST_P(ArrowTest, FieldsAreThoseOfACsvFile) {
  auto dates = array_of<arrow::Date32Builder, int32_t>({0, 20000, {}});
  arrow::StringDictionaryBuilder colours;
  for (const char* colour : {"red", "blue", "red"}) expect_ok(colours.Append(colour));
  write_table(file(), {{"whole", array_of<arrow::Int64Builder, int64_t>({7, {}, -3})},
                       {"half", array_of<arrow::HalfFloatBuilder, uint16_t>({0x3800, 0, {}})},
                       {"single", array_of<arrow::FloatBuilder, float>({0.1f, 2.0f, {}})},
                       {"real", array_of<arrow::DoubleBuilder, double>({0.1, -NAN, {}})},
                       {"yes", array_of<arrow::BooleanBuilder, bool>({true, false, {}})},
                       {"word", words({"a, b", "", {}})},
                       {"day", dates},
                       {"colour", taken(colours.Finish())}});
  auto reader = open_arrow_records(file());
  CsvRecord record;
  ASSERT_TRUE(reader->next(record));
  EXPECT_TRUE(record.names);
  EXPECT_THAT(texts(record),
              ElementsAre("whole", "half", "single", "real", "yes", "word", "day", "colour"));
  ASSERT_TRUE(reader->next(record));
  EXPECT_FALSE(record.names);
  EXPECT_THAT(texts(record),
              ElementsAre("7", "0.5", "0.1", "0.1", "true", "a, b", "1970-01-01", "red"));
  ASSERT_TRUE(reader->next(record));
  EXPECT_THAT(texts(record), ElementsAre("", "0", "2", "", "false", "", "2024-10-04", "blue"));
  ASSERT_TRUE(reader->next(record));  // of the second batch
  EXPECT_THAT(texts(record), ElementsAre("-3", "", "", "", "", "", "", "red"));
  EXPECT_EQ(to_string("t", record.fields[7].position), "t:3:8");
  EXPECT_FALSE(reader->next(record));
}

// Whatever byte is another: an error, or other texts, but none from beside the file's.
TEST_P(ArrowTest, NoDamagedByteIsReadPast) {
  std::vector<std::optional<std::string>> texts;
  for (int i = 0; i < 64; ++i) texts.emplace_back(std::string(40, static_cast<char>('a' + i % 26)));
  write_table(file(), {{"word", words(texts)}});
  std::ifstream stream(file(), std::ios::binary);
  std::string good{std::istreambuf_iterator<char>(stream), {}};
  for (size_t at = 8; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write_text(file(), bad);
    try {
      auto reader = open_arrow_records(file());
      for (CsvRecord record; reader->next(record);) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::data) << error.what();
    }
  }
}

// The same rows as CSV give the same dataset.
TEST_P(ArrowTest, ATableIsReadAsItsCsv) {
  write_text(folder_ / "table.csv",
             "width,colour,kind\n1,red,rose\n3,blue,iris\n,red,rose\n5,blue,iris\n");
  write_table(file(), {{"width", array_of<arrow::Int32Builder, int32_t>({1, 3, {}, 5})},
                       {"colour", words({"red", "blue", "red", "blue"})},
                       {"kind", words({"rose", "iris", "rose", "iris"})}});
  DataConfig config;
  config.name = "csv";
  config.csv.test_share = 0.5;
  auto read = [&](const std::filesystem::path& path) {
    config.path = path.string();
    return open_dataset(config, {});
  };
  DatasetPair csv = read(folder_ / "table.csv"), arrow = read(file());
  EXPECT_EQ(arrow.train->spec(), csv.train->spec());
  ASSERT_EQ(arrow.train->count(), csv.train->count());
  for (int64_t i = 0; i < csv.train->count(); ++i)
    EXPECT_EQ(read_column<float>(*arrow.train, 0, {i}), read_column<float>(*csv.train, 0, {i}));
}

TEST_P(ArrowTest, AFolderHasTrainingAndTestRows) {
  Columns rows = {{"x", array_of<arrow::Int32Builder, int32_t>({1, 2, 3})},
                  {"kind", words({"a", "b", "a"})}};
  for (const char* name : {"train.", "test."}) write_table(folder_ / (name + GetParam()), rows);
  DataConfig config = data_at("csv", folder_.path());
  DatasetPair pair = open_dataset(config, {});
  EXPECT_EQ(pair.train->count(), 3);
  EXPECT_EQ(pair.test->count(), 3);
}

TEST_P(ArrowTest, DocumentsAreTextsOfAColumn) {
  write_table(file(),
              {{"id", array_of<arrow::Int32Builder, int32_t>({1, 2, 3, 4})},
               {"text", words({"ab", "", {}, "c"})},
               {"bytes", array_of<arrow::BinaryBuilder, std::string>({"ab", "", {}, "c"})},
               {"broken", array_of<arrow::BinaryBuilder, std::string>({"a", "b", "\xff", "c"})}});
  TokensConfig config;
  config.text = {file().string()};
  EXPECT_THAT(read_text_tokens(config).ids, ElementsAre(3, 'a', 'b', 3, 'c'));
  config.field = "bytes";
  EXPECT_THAT(read_text_tokens(config).ids, ElementsAre(3, 'a', 'b', 3, 'c'));
  auto refused = [&](const char* field) {
    config.field = field;
    return message_of(Category::data, [&] { read_text_tokens(config); });
  };
  EXPECT_THAT(refused("body"),
              HasSubstr("has no column 'body', but 'id', 'text', 'bytes', 'broken'; set "
                        "data.tokens.field"));
  EXPECT_THAT(refused("id"), HasSubstr("its column 'id' has values of type int32, not texts"));
  EXPECT_THAT(refused("broken"), HasSubstr(":3: byte 0 of its text is not UTF-8"));
}

TEST_P(ArrowTest, DamageAndOtherFilesAreNamed) {
  write_table(file(), {{"x", array_of<arrow::Int32Builder, int32_t>({1, 2, 3})}});
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 30);
  EXPECT_THAT(refusal(), HasSubstr(file().string() + ": Apache Arrow cannot read it: "));
  std::filesystem::rename(file(), file().string() + ".gz");
  EXPECT_THAT(message_of(Category::data, [&] { open_records(file().string() + ".gz", ','); }),
              HasSubstr("is compressed as a whole; unpack it with gunzip"));
  write_text(file(), "x,kind\n1,a\n");
  EXPECT_THAT(refusal(), HasSubstr("get an intact copy"));
  std::filesystem::remove(file());
  EXPECT_THAT(refusal(), HasSubstr(file().string()));
}

TEST_P(ArrowTest, AFileThatIsWrittenMeanwhileIsNoticed) {
  write_table(file(), {{"x", array_of<arrow::Int32Builder, int32_t>({1, 2, 3})}});
  auto reader = open_arrow_records(file());
  std::ofstream(file(), std::ios::app) << "more";
  EXPECT_THROW(for (CsvRecord record; reader->next(record);){}, Error);
}

TEST(Arrow, StreamsAreReadLikeFiles) {
  Folder folder;
  write_table(folder / "a.arrow", {{"x", array_of<arrow::Int32Builder, int32_t>({1, 2, 3})}}, true);
  auto reader = open_arrow_records(folder / "a.arrow");
  CsvRecord record;
  int64_t records = 0;
  while (reader->next(record)) ++records;
  EXPECT_EQ(records, 4);  // the names are one
}

}  // namespace
}  // namespace spire
