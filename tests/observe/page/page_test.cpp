// Every page is one file that needs nothing from elsewhere, and reads no text as HTML.
#include "engine/observe/page/page.h"

#include <cmath>
#include <regex>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/observe/page/drawn_page.h"

namespace spire {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Page, NeedsNothingFromElsewhere) {
  std::string html = html_of({"range_test", "a run", "loss 1", R"({"title":"x"})"});
  EXPECT_THAT(html, StartsWith(std::string(page_beginning())));
  EXPECT_THAT(html, EndsWith("</html>\n"));
  EXPECT_THAT(html, HasSubstr("<title>a run</title>"));
  EXPECT_THAT(html, Not(HasSubstr("@TITLE@")));
  std::string named = std::regex_replace(html, std::regex("http://www.w3.org/2000/svg"), "");
  for (const char* remote : {"http://", "https://", "@import", "url(", "innerHTML"})
    EXPECT_THAT(named, Not(HasSubstr(remote)));
}

// An older Spire's pages begin so, too: `trainer report` replaces them.
TEST(Page, BeginsAsItAlwaysDid) {
  EXPECT_EQ(page_beginning(),
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
            "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
}

TEST(Page, ReadsNoTextAsHtmlOrAsAPlace) {
  std::string evil = "</title></script><b a=\"'&\x01@DATA@@SUMMARY@";
  std::string html = html_of({"report", evil, evil, nlohmann::json{{"evil", evil}}.dump()});
  EXPECT_THAT(html, Not(HasSubstr("<b a")));
  EXPECT_THAT(html, HasSubstr("&#60;b a=&#34;&#39;&#38;\xEF\xBF\xBD@DATA@"));
  EXPECT_EQ(data_of(html)["evil"], evil);
}

TEST(Page, ReadersWithoutScriptsGetTheSummary) {
  std::string html = html_of({"report", "a run", "test accuracy 91%", "{}"});
  std::string aside = html.substr(html.find("<noscript>"));
  EXPECT_THAT(aside.substr(0, aside.find("</noscript>")), HasSubstr("test accuracy 91%"));
}

TEST(Page, DrawsByDefinition) {
  SPIRE_SKIP_WITHOUT_NODE();
  EXPECT_EQ(std::system("node " SPIRE_ROOT "/tests/observe/page/draw_test.mjs " SPIRE_ROOT
                        "/engine/observe/page/draw.js"),
            0);
}

TEST(DrawnNumber, HasSixDigits) {
  EXPECT_EQ(drawn_number(0.123456789), 0.123457);
  EXPECT_EQ(drawn_number(-1234567.8), -1.23457e6);
  EXPECT_TRUE(std::isnan(drawn_number(std::nan(""))));
}

TEST(Base64, IsThatOfRfc4648) {
  std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                              {"f", "Zg=="},
                                                              {"fo", "Zm8="},
                                                              {"foo", "Zm9v"},
                                                              {"foob", "Zm9vYg=="},
                                                              {"fooba", "Zm9vYmE="},
                                                              {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) EXPECT_EQ(base64(bytes), text);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace spire
