// Records of CSV files: quotes, line ends, positions, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/tables/record_reader.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Table = std::vector<std::vector<std::string>>;

Table read(const Folder& folder, const Bytes& bytes, char separator = ',') {
  write_file(folder / "table.csv", bytes);
  CsvReader reader(folder / "table.csv", separator);
  Table table;
  CsvRecord record;
  while (reader.next(record)) {
    EXPECT_EQ(record.problem, "");
    std::vector<std::string> row;
    for (const CsvField& field : record.fields) row.push_back(field.text);
    table.push_back(row);
  }
  return table;
}

Table read(const std::string& text, char separator = ',') {
  return read(Folder(), Bytes(text.begin(), text.end()), separator);
}

// RFC 4180, section 2, rules 1 to 7.
TEST(Csv, RulesOfTheRfc) {
  Table two = {{"aaa", "bbb", "ccc"}, {"zzz", "yyy", "xxx"}};
  EXPECT_EQ(read("aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n"), two);
  EXPECT_EQ(read("aaa,bbb,ccc\r\nzzz,yyy,xxx"), two);
  EXPECT_EQ(read("\"aaa\",\"bbb\",\"ccc\"\r\nzzz,yyy,xxx"), two);
  EXPECT_EQ(read("\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx"),
            (Table{{"aaa", "b\nbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(read("\"aaa\",\"b\"\"bb\",\"c,cc\""), (Table{{"aaa", "b\"bb", "c,cc"}}));
}

TEST(Csv, LineEndsOfAnySystemAndBlankLines) {
  Table rows = {{"1", "2"}, {"3", "4"}};
  for (const char* text : {"1,2\n3,4", "1,2\r3,4\r", "\n\n1,2\r\n\r\n\n3,4\n\n", "1,2\n\r3,4"})
    EXPECT_EQ(read(text), rows) << text;
}

TEST(Csv, EmptyFieldsAndFiles) {
  EXPECT_EQ(read("\"\",x,\n\"\",,\n"), (Table{{"", "x", ""}, {"", "", ""}}));
  EXPECT_EQ(read("a,"), (Table{{"a", ""}}));
  EXPECT_EQ(read(""), Table{});
  EXPECT_EQ(read("\n\r\n"), Table{});
}

// As spreadsheets write rows without anything.
TEST(Csv, RowsOfSeparatorsAloneAreSkipped) {
  Table rows = {{"1", "2"}, {"", "4"}};
  for (const char* text : {",\n1,2\n,\n,4\n,\r\n,", "1,2\n\n,\n,,,\n,4\n"})
    EXPECT_EQ(read(text), rows) << text;
  EXPECT_EQ(read(";;\n1;;\n;;2\n;;\n", ';'), (Table{{"1", "", ""}, {"", "", "2"}}));
}

TEST(Csv, OtherSeparatorsAndTheByteOrderMark) {
  EXPECT_EQ(read("1,5;2\t3\n", ';'), (Table{{"1,5", "2\t3"}}));
  EXPECT_EQ(read("1,5\t\"a\tb\"\n", '\t'), (Table{{"1,5", "a\tb"}}));
  EXPECT_EQ(read("\xef\xbb\xbfx,y"), (Table{{"x", "y"}}));
}

// Many times as long as the buffer, so that fields and line ends cross its end.
TEST(Csv, LongAndCompressedFiles) {
  std::string text;
  Table rows;
  for (int i = 0; i < 30000; ++i) {
    std::string number = std::to_string(i * 7919);
    text += number + ",\"" + number + "\"\"\"\r\n";
    rows.push_back({number, number + "\""});
  }
  EXPECT_EQ(read(text), rows);
  EXPECT_EQ(read(Folder(), gzip(Bytes(text.begin(), text.end()))), rows);
}

TEST(Csv, FieldsHaveTheirPositions) {
  Folder folder;
  write_text(folder / "table.csv", "a,bb,\"c\nc\",d\n\ne,f\n");
  CsvReader reader(folder / "table.csv", ',');
  CsvRecord record;
  std::vector<std::string> positions;
  while (reader.next(record))
    for (const CsvField& field : record.fields)
      positions.push_back(to_string(std::filesystem::path("t"), field.position));
  EXPECT_THAT(positions, ElementsAre("t:1:1", "t:1:3", "t:1:6", "t:2:4", "t:4:1", "t:4:3"));
}

// Only the record with the quote has a problem, not the next one.
TEST(Csv, MisplacedQuotesAreAProblemOfTheirRecord) {
  struct Case {
    const char* text;
    const char* problem;
    int64_t column;
  };
  for (const Case& one : {Case{"a,b\"c,d\nx,y\n", "does not begin with one", 4},
                          Case{"a,\"b\"c,d\nx,y\n", "follows a closing quote", 6},
                          Case{"a,\"b\" ,d\nx,y\n", "follows a closing quote", 6}}) {
    Folder folder;
    write_text(folder / "table.csv", one.text);
    CsvReader reader(folder / "table.csv", ',');
    CsvRecord record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_THAT(record.problem, HasSubstr(one.problem));
    EXPECT_EQ(record.problem_position.column, one.column);
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.problem, "");
    EXPECT_EQ(record.fields.size(), 2u);
  }
}

TEST(Csv, DefectsThatEndTheReading) {
  Folder folder;
  auto refusal = [&](const std::string& text) {
    return message_of(Category::data, [&] { read(folder, Bytes(text.begin(), text.end())); });
  };
  std::string path = (folder / "table.csv").string();
  EXPECT_THAT(refusal("a,b\nc,\"d\ne,f\n"), HasSubstr(path + ":2:3: this quote is never closed"));
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, 'x')),
              HasSubstr("a field of more than 1048576 bytes"));
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, ',')), HasSubstr("more than 1048576 fields"));
}

}  // namespace
}  // namespace spire
