// Tables as people have them: decimal commas, money, dates, separators, texts in other encodings.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/tables/csv_table.h"
#include "tests/data/tables/csv_fixture.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CsvForms : public CsvTest {
 protected:
  CsvForms() { options_.as_stored = true; }  // numbers as they are, not standardized
  std::vector<double> features(const std::string& train) {
    DatasetPair pair = open_train(train);
    notes_ = pair.notes;
    return read_all<double>(*pair.train, 0);
  }

  std::vector<std::string> notes_;
};

TEST_F(CsvForms, DecimalCommasOfAFileBetweenSemicolons) {
  EXPECT_THAT(features("a;b;y\n1;22,5;x\n2;3,25;y\n"), ElementsAre(1, 22.5, 2, 3.25));
  EXPECT_THAT(notes_, IsEmpty());
  // Without a header, where commas split the row, too.
  EXPECT_THAT(features("22,5;3,5;x\n1,25;2,5;y\n"), ElementsAre(22.5, 3.5, 1.25, 2.5));
}

// In 22,677 the comma may also stand between thousands.
TEST_F(CsvForms, AnAmbiguousCommaIsNoted) {
  EXPECT_THAT(features("a;b;y\n1;22,677;x\n2;16,212;y\n"), ElementsAre(1, 22.677, 2, 16.212));
  EXPECT_THAT(notes_, ElementsAre(HasAll("'b': '16,212' is read as 16.212",
                                         "data.csv.decimal: point reads 16212")));
  config_.csv.decimal = CsvConfig::Decimal::point;
  EXPECT_THAT(features("a;b;y\n1;22,677;x\n2;16,212;y\n"), ElementsAre(1, 22677, 2, 16212));
  EXPECT_THAT(notes_, IsEmpty());
}

// One column shows what the marks of the others are.
TEST_F(CsvForms, ThousandsFollowTheDecimalMarkOfTheFile) {
  EXPECT_THAT(features("a;b;y\n1.234;2,5;x\n2.000;3,5;y\n"), ElementsAre(1234, 2.5, 2000, 3.5));
  EXPECT_THAT(features("a,b,y\n\"1,234\",2.5,x\n\"12,000\",3.5,y\n"),
              ElementsAre(1234, 2.5, 12000, 3.5));
  EXPECT_THAT(features("a;b;y\n1.234;2;x\n2.000;3;y\n"), ElementsAre(1.234, 2, 2, 3));
}

TEST_F(CsvForms, MoneyAndPercent) {
  EXPECT_THAT(features("a,b,y\n\"$1,234.50\",5%,x\n$2,12.5 %,y\n"),
              ElementsAre(1234.5, 5, 2, 12.5));
  DatasetPair pair = open_train("a,b,y\n\"$1,234.50\",5%,x\n$2,12.5 %,y\n");
  EXPECT_THAT(
      pair.train->spec().table,
      ElementsAre(TableColumn{.name = "a", .blank = 618.25, .form = FieldForm::point, .unit = "$"},
                  TableColumn{.name = "b", .blank = 8.75, .form = FieldForm::point, .unit = "%"}));
  // A share without its mark is a hundred times another.
  EXPECT_THAT(refusal("a,y\n5%,x\n6%,y\n7%,x\n0.08,y\n"),
              HasSubstr("train.csv:5:1: 'a': '0.08' is not a number with a decimal point and '%'"));
}

TEST_F(CsvForms, TargetsAreReadAlike) {
  config_.csv.target = "price";
  DatasetPair pair = open_train("a;price\n1;1.234,50 \u20ac\n2;3,25 \u20ac\n3;7 \u20ac\n");
  EXPECT_THAT(read_column<float>(*pair.train, 1, {0, 1, 2}), ElementsAre(1234.5, 3.25, 7));
  EXPECT_EQ(pair.train->spec().target.form, FieldForm::comma);
  EXPECT_EQ(pair.train->spec().target.unit, "\u20ac");
}

TEST_F(CsvForms, DatesBecomeTheirParts) {
  DatasetPair pair = open_train("when,y\n2024-12-31 01:00,x\n2025-01-01 00:00,y\n");
  EXPECT_THAT(pair.train->spec().feature_names,
              ElementsAre("when.year", "when.month", "when.day", "when.weekday", "when.seconds"));
  EXPECT_THAT(read_column<double>(*pair.train, 0, {0, 1}),
              ElementsAre(2024, 12, 31, 2, 3600, 2025, 1, 1, 3, 0));
  EXPECT_DOUBLE_EQ(pair.train->spec().normalization.mean[0], 2024.5);
  EXPECT_THAT(features("at,y\n23:59,x\n00:01:30,y\n"), ElementsAre(86340, 90));
}

TEST_F(CsvForms, TheOrderOfDayAndMonthIsThatOfTheOtherDates) {
  EXPECT_THAT(features("d,y\n3/4/2024,x\n13/4/2024,y\n"),
              ElementsAre(2024, 4, 3, 3, 0, 2024, 4, 13, 6, 0));
  EXPECT_THAT(features("d,y\n3/4/2024,x\n4/13/2024,y\n"),
              ElementsAre(2024, 3, 4, 1, 0, 2024, 4, 13, 6, 0));
  std::string both = "d,y\n3/4/2024,x\n5/6/2024,y\n";
  EXPECT_THAT(refusal(both), HasAll("column 'd'", "day first or month first?",
                                    "data.csv.dates: day_first or month_first"));
  config_.csv.dates = CsvConfig::Dates::day_first;
  EXPECT_THAT(features(both), ElementsAre(2024, 4, 3, 3, 0, 2024, 6, 5, 3, 0));
}

// A trained model reads other tables as it was taught.
TEST_F(CsvForms, ATrainedModelKeepsTheForms) {
  DatasetPair first = open_train("a;b;y\n1;22,5;x\n2;3,25;y\n");
  options_.trained =
      std::make_shared<SampleSpec>(sample_spec_from_text(to_text(first.train->spec())));
  EXPECT_EQ(*options_.trained, first.train->spec());
  EXPECT_THAT(features("a;b;y\n1;1.234,5;x\n2;7;y\n"), ElementsAre(1, 1234.5, 2, 7));
  EXPECT_THAT(refusal("a,b,y\n1,22.5,x\n2,3.25,y\n"),
              HasSubstr("'22.5' is not a number with a decimal comma"));
}

TEST_F(CsvForms, FieldsThatAreNearlyNumbersAreNoWordsInSilence) {
  std::string text = "a,code,y\n";
  for (int row = 0; row < 30; ++row)
    text += fmt::format("{}.5,{}-{},{}\n", row, row, 900 + row, row % 2);
  EXPECT_THAT(refusal(text), HasAll("the column 'code' has fields that are nearly all digits",
                                    "data.csv.ignore: [auto, 'code']"));
  std::string ages = "a,age,y\n";
  for (int row = 0; row < 30; ++row)
    ages += fmt::format("{}.5,{}0-{}9,{}\n", row, row % 3 + 1, row % 3 + 1, row % 2);
  features(ages);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("has words that are nearly numbers ('10-19'")));
}

TEST_F(CsvForms, MarksOfEmptyFields) {
  EXPECT_THAT(features("a,y\n1,x\n#N/A,y\n3,x\n"), ElementsAre(1, 2, 3));
  EXPECT_THAT(refusal("a,y\n1,x\n-,y\n3,x\n"), HasSubstr("'-' is not a finite number"));
  config_.csv.missing = {"auto", "-", "-999"};
  EXPECT_THAT(features("a,y\n1,x\n-,y\n3,x\n-999,x\n"), ElementsAre(1, 2, 3, 2));
  config_.csv.missing = {"auto"};
  for (const char* mark : {"#NV", "#N/D", "#N/B", "#WERT!", "k.A."})
    EXPECT_THAT(features(fmt::format("a,y\n1,x\n{},y\n3,x\n", mark)), ElementsAre(1, 2, 3)) << mark;
}

// Whatever the form of the numbers, all words that would be refused in turn are named at once.
TEST_F(CsvForms, WordsAmongNumbersAreNamedTogether) {
  std::string numbers, money;
  for (int i = 0; i < 20; ++i) {
    numbers += fmt::format("{}.5,x\n{}.5,y\n", i, i + 1);
    money += fmt::format("{},5 %;x\n{},5 %;y\n", i, i + 1);
  }
  EXPECT_THAT(refusal("a,y\nlost,x\nbroken,y\n" + numbers),
              HasSubstr("train.csv:2:1: 'a': 'lost' is not a finite number (data.csv.missing lists "
                        "what stands for an empty field); no numbers in this column are 'broken', "
                        "'lost'; correct"));
  EXPECT_THAT(
      refusal("a;y\n-;x\n" + money),
      HasSubstr("'-' is not a number with a decimal comma and '%' (data.csv.missing lists"));
  EXPECT_THAT(refusal("a;y\n5;x\n" + money),
              HasSubstr("'5' is not a number with a decimal comma and '%'; correct"));
  std::string many = "a,y\n";
  for (char c = 'a'; c < 'k'; ++c) many += fmt::format("word {},x\n", c);
  EXPECT_THAT(refusal(many + numbers), AllOf(HasSubstr("'word a', 'word b'"), HasSubstr("'word h'"),
                                             Not(HasSubstr("'word i'"))));
}

TEST_F(CsvForms, WhatIsNoTextIsNamed) {
  using namespace std::string_literals;
  std::string zip = "PK\x03\x04\x14\0\0\0"s;
  EXPECT_THAT(
      refusal(zip + "[Content_Types].xml ... xl/workbook.xml"),
      AllOf(HasSubstr("train.csv: is an Excel workbook; save it as CSV"), Not(HasSubstr("iconv"))));
  EXPECT_THAT(refusal(zip + "mine.csv"), HasSubstr("is a ZIP archive; unpack it"));
  EXPECT_THAT(refusal("\xff\xd8\xff\xe0 JFIF"), HasSubstr("is a JPEG image, not a table"));
  EXPECT_THAT(refusal("\x89PNG\r\n\x1a\n"), HasSubstr("is a PNG image"));
  EXPECT_THAT(refusal("%PDF-1.7\n"), HasSubstr("is a PDF file"));
  EXPECT_THAT(refusal("PAR1\x15"), HasSubstr("is a Parquet file; end its name with .parquet"));
}

// The whole head of the file counts, not the word that is refused: the euro comes later.
TEST_F(CsvForms, TheEncodingIsThatOfTheFile) {
  EXPECT_THAT(refusal("gr\xf6\xdf\x65,y\n1,x\n2 \x80,y\n"), HasSubstr("iconv -f windows-1252"));
  // Among valid UTF-8, whose bytes are from 80 to 9F, too.
  EXPECT_THAT(refusal("a,y\n\xc3\x9f,x\nK\xf6ln,y\n"), HasSubstr("iconv -f latin1"));
}

TEST_F(CsvForms, Separators) {
  for (const char* text :
       {"sep=;\na;b;y\n1;2;x\n3;4;y\n", "\"sep=;\"\r\na;b;y\r\n1;2;x\r\n3;4;y\r\n",
        "a|b|y\n1|2|x\n3|4|y\n", "a b y\n1  2 x\n 3 4\ty \n", "# a b y\n1 2 x\n3 4 y\n",
        "#a,b,y\n1,2,x\n3,4,y\n"}) {
    DatasetPair pair = open_train(text);
    EXPECT_THAT(pair.train->spec().feature_names, ElementsAre("a", "b")) << text;
    EXPECT_THAT(read_column<double>(*pair.train, 0, {0, 1}), ElementsAre(1, 2, 3, 4)) << text;
  }
  // Lines are counted with the one of the separator.
  EXPECT_THAT(refusal("sep=;\na;y\n1;x\nz;y\n2;x\n"), HasSubstr("train.csv:4:1: 'a': 'z'"));
  // Names and texts have blanks, too, and genres their own separator.
  DatasetPair pair = open_train("sepal length,genres,y\n1,a|b,x\n2,b|a,y\n");
  EXPECT_THAT(pair.train->spec().feature_names,
              ElementsAre("sepal length", "genres=a|b", "genres=b|a"));
  config_.csv.separator = CsvConfig::Separator::pipe;
  EXPECT_THAT(features("a|b|y\n1|2|x\n3|4|y\n"), ElementsAre(1, 2, 3, 4));
}

TEST_F(CsvForms, SeparatorsAtTheEndOfRowsAreNamed) {
  EXPECT_THAT(refusal("a,y\n1,x,\n2,y,\n"),
              HasSubstr("3 fields, expected 2: the row ends with ','"));
  EXPECT_THAT(refusal("a,y,\n1,x\n2,y\n"),
              HasSubstr("2 fields, expected 3: the first row ends with ','"));
  EXPECT_THAT(refusal("a,y,\n1,x,\n2,y,\n"), HasAll("the target is empty, as the rows end with ','",
                                                    "data.csv.target to the column before: 'y'"));
}

TEST_F(CsvForms, IdentifiersAreLeftOut) {
  for (const char* name :
       {"PassengerId", "passenger_id", "ID", "CustomerID", "order id", "user-id"}) {
    EXPECT_THAT(features(fmt::format("{},a,y\n71,5,x\n13,6,y\n", name)), ElementsAre(5, 6)) << name;
    EXPECT_THAT(notes_, ElementsAre(HasAll(name, "left out")));
  }
  for (const char* name : {"paid", "PAID", "grid", "humid", "Id2"})
    EXPECT_EQ(features(fmt::format("{},a,y\n71,5,x\n13,6,y\n", name)).size(), 4u) << name;
}

TEST_F(CsvForms, TextThatIsNoUtf8IsRefusedWithTheCommand) {
  EXPECT_THAT(refusal("x,city,y\n1,Bonn,a\n2,K\xf6ln,b\n"),
              HasAll("train.csv:3:3: the text is not UTF-8", "Latin-1?", "iconv -f latin1 -t utf-8",
                     "train.utf8.csv"));
  EXPECT_THAT(refusal("x,gr\xf6\xdf\x65,y\n1,2,a\n"), HasSubstr("train.csv:1:3: the text"));
  EXPECT_THAT(refusal("x,price,y\n1,\x80 5,a\n2,\x80 6,b\n"), HasSubstr("iconv -f windows-1252"));
  config_.on_error = DataConfig::OnError::skip;  // no row is at fault
  EXPECT_THAT(refusal("x,city,y\n1,Bonn,a\n2,K\xf6ln,b\n"), HasSubstr("not UTF-8"));
  EXPECT_THAT(features("\xef\xbb\xbfx,city,y\n1,K\xc3\xb6ln,a\n2,K\xc3\xb6ln,b\n"),
              ElementsAre(1, 1, 2, 1));
}

TEST_F(CsvForms, TextsInUtf16AreNamed) {
  std::string little, big;
  for (char c : std::string("a,y\n1,x\n")) {
    little += std::string{c, '\0'};
    big += std::string{'\0', c};
  }
  EXPECT_THAT(refusal("\xff\xfe" + little),
              HasAll("UTF-16 by its byte order mark (BOM) FF FE", "iconv -f UTF-16 -t utf-8"));
  EXPECT_THAT(refusal("\xfe\xff" + big), HasSubstr("UTF-16 by its byte order mark (BOM) FE FF"));
  EXPECT_THAT(refusal(little), AllOf(HasSubstr("UTF-16LE"), Not(HasSubstr("BOM"))));
  EXPECT_THAT(refusal(big), HasSubstr("iconv -f UTF-16BE"));
}

TEST_F(CsvForms, ATestFileWithoutTheTargetIsForPredictions) {
  auto refused = [&](const std::string& test) {
    return message_of(Category::data, [&] { open_pair("a,b,y\n1,2,x\n3,4,z\n", test); });
  };
  EXPECT_THAT(refused("a,b\n1,2\n"),
              HasSubstr("test.csv:1:1: lacks the target 'y'; set data.path to the training file "
                        "alone, of which a share is then test data, and predict test.csv later"));
  EXPECT_THAT(refused("b,y\n1,x\n"), HasSubstr("lacks the column 'a'"));
  EXPECT_THAT(refused("a,c\n1,2\n"), HasSubstr("the columns are a, c, but"));
}

TEST_F(CsvForms, TextsAreNoFeatures) {
  std::string text = "text,label\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("the text {},{}\n", i, i % 2 ? "good" : "bad");
  EXPECT_THAT(refusal(text), HasAll("no column is left as a feature",
                                    "texts are no features of a table", "docs/formats.md#text"));
  EXPECT_THAT(refusal("a,label\n,x\n,y\n"), HasSubstr("see data.csv.ignore"));
}

}  // namespace
}  // namespace spire
