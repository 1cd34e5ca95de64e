// Numbers, dates and empty fields in the ways that people and programs write them.
#include "engine/data/tables/field_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::ElementsAre;

std::optional<double> value_of(std::string_view text, FieldForm form) {
  auto number = written_number(text, form);
  return number ? std::optional(number->value) : std::nullopt;
}

TEST(WrittenNumber, HasDecimalsThousandsAndSigns) {
  for (auto [text, point, comma] :
       std::vector<std::tuple<const char*, double, double>>{{"1234", 1234, 1234},
                                                            {"1,234", 1234, 1.234},
                                                            {"1.234", 1.234, 1234},
                                                            {"-1 234", -1234, -1234},
                                                            {"1'234", 1234, 1234},
                                                            {"1\u00a0234", 1234, 1234},
                                                            {"\u22125", -5, -5},
                                                            {"(5)", -5, -5},
                                                            {"1e3", 1000, 1000}}) {
    EXPECT_EQ(value_of(text, FieldForm::point), point) << text;
    EXPECT_EQ(value_of(text, FieldForm::comma), comma) << text;
  }
  EXPECT_EQ(value_of("1,234,567.5", FieldForm::point), 1234567.5);
  EXPECT_EQ(value_of("12,34,567.5", FieldForm::point), 1234567.5);  // as in India
  EXPECT_EQ(value_of("1.234.567,5", FieldForm::comma), 1234567.5);
  EXPECT_EQ(value_of("1 234 567,5", FieldForm::comma), 1234567.5);
  EXPECT_EQ(value_of(",5", FieldForm::comma), 0.5);
  EXPECT_EQ(value_of("1,5e-3", FieldForm::comma), 1.5e-3);
}

TEST(WrittenNumber, OtherTextsAreNone) {
  for (const char* text : {"", "-", "2 3", "1,23", "1,2345", "1,234,56", "1.2.3", "1..2", "12 km",
                           "0x10", "1-2", "--5", "5%%", "e5", "inf", "nan", "$"})
    EXPECT_FALSE(value_of(text, FieldForm::point)) << text;
  for (const char* text : {"1.5", "1,5,5", "1,234.5", "12.34"})
    EXPECT_FALSE(value_of(text, FieldForm::comma)) << text;
}

TEST(WrittenNumber, MayHaveAUnit) {
  for (auto [text, value, unit] :
       std::vector<std::tuple<const char*, double, const char*>>{{"$1,234.50", 1234.5, "$"},
                                                                 {"-$5", -5, "$"},
                                                                 {"$-5", -5, "$"},
                                                                 {"12 %", 12, "%"},
                                                                 {"\u20ac 3.5", 3.5, "\u20ac"},
                                                                 {"3.5\u00a0\u20ac", 3.5, "\u20ac"},
                                                                 {"10 EUR", 10, "EUR"},
                                                                 {"US$ 10", 10, "US$"},
                                                                 {"($1,000)", -1000, "$"}}) {
    auto number = written_number(text, FieldForm::point);
    ASSERT_TRUE(number) << text;
    EXPECT_EQ(number->value, value) << text;
    EXPECT_EQ(number->unit, unit) << text;
  }
  TableColumn dollars = {.form = FieldForm::point, .unit = "$"};
  EXPECT_EQ(number_in(dollars, "7"), 7);  // an amount, too
  EXPECT_FALSE(number_in(dollars, "7 EUR"));
  TableColumn shares = {.form = FieldForm::point, .unit = "%"};
  EXPECT_FALSE(number_in(shares, "0.07"));
}

TEST(Blanks, AreTheUsualMarksAndThoseOfTheConfig) {
  for (const char* text : {"", "  ", "NA", "#N/A", "#DIV/0!", "<NA>", "null", " ? "})
    EXPECT_TRUE(is_blank(text)) << text;
  for (const char* text : {"-", ".", "-999", "0", "missing"}) EXPECT_FALSE(is_blank(text)) << text;
  EXPECT_THAT(marks_of({"auto"}), testing::IsEmpty());
  auto marks = marks_of({"auto", "-999"});
  EXPECT_TRUE(is_blank("-999", marks) && is_blank("NA", marks) && is_blank("", marks));
  marks = marks_of({"-"});
  EXPECT_TRUE(is_blank("-", marks) && is_blank("", marks));
  EXPECT_FALSE(is_blank("NA", marks));
}

// Seconds from 1970-01-01 to the day.
constexpr double day_2024_12_31 = 20088.0 * 86400;

TEST(Dates, AreReadByTheirForm) {
  for (const char* text : {"2024-12-31", "2024/12/31", "2024.12.31", "31 Dec 2024", "31-Dec-2024",
                           "Dec 31, 2024", "December 31 2024", "Tue, 31 Dec 2024"})
    for (FieldForm form : {FieldForm::date, FieldForm::month_first, FieldForm::day_first})
      EXPECT_EQ(date_seconds(text, form), day_2024_12_31) << text;
  EXPECT_EQ(date_seconds("12/31/2024", FieldForm::month_first), day_2024_12_31);
  EXPECT_EQ(date_seconds("12/31/24", FieldForm::month_first), day_2024_12_31);
  EXPECT_EQ(date_seconds("31/12/2024", FieldForm::day_first), day_2024_12_31);
  EXPECT_EQ(date_seconds("31.12.2024", FieldForm::day_first), day_2024_12_31);
  EXPECT_EQ(date_seconds("2024-12", FieldForm::date), day_2024_12_31 - 30 * 86400);
  EXPECT_EQ(date_seconds("December 2024", FieldForm::date), day_2024_12_31 - 30 * 86400);
  for (const char* text : {"12/31/2024", "2024-02-30", "2024-13-01", "31.12.2024", "2024", "Mon",
                           "2024-12-31x", "1-2-3", "20241231", "Jan 05", "Apr 5", "December 24"})
    EXPECT_FALSE(date_seconds(text, FieldForm::date)) << text;
  EXPECT_FALSE(date_seconds("31/12/2024", FieldForm::month_first));
  EXPECT_FALSE(date_seconds("12.31.2024", FieldForm::month_first));
}

TEST(Dates, MayHaveATimeAndAnOffset) {
  double noon = day_2024_12_31 + 12 * 3600;
  for (const char* text :
       {"2024-12-31 12:00", "2024-12-31T12:00:00Z", "2024-12-31 12:00:00 UTC",
        "2024-12-31T14:00:00+02:00", "2024-12-31T07:00:00-0500", "2024-12-31 12:00 PM"})
    EXPECT_EQ(date_seconds(text, FieldForm::date), noon) << text;
  EXPECT_EQ(date_seconds("2024-12-31 12:00:00.25", FieldForm::date), noon + 0.25);
  EXPECT_EQ(date_seconds("12:00 AM", FieldForm::time), 0);
  EXPECT_EQ(date_seconds("23:59:30", FieldForm::time), 86370);
  for (const char* text : {"24:00", "12:60", "12", "13:00 PM", "12:3"})
    EXPECT_FALSE(date_seconds(text, FieldForm::time)) << text;
}

TEST(Dates, BecomeTheirParts) {
  EXPECT_THAT(parts_of_date(day_2024_12_31 + 3661), ElementsAre(2024, 12, 31, 2, 3661));
  EXPECT_THAT(parts_of_date(-1), ElementsAre(1969, 12, 31, 3, 86399));
}

}  // namespace
}  // namespace spire
