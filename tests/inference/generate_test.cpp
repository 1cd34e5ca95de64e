// Checks generated tokens against models with a closed form.
#include "engine/inference/generate.h"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t test_vocabulary = 5;

// Returns a pass whose logits are `rule` of the last token.
TextsPass model(int64_t context, std::function<std::vector<float>(int32_t token)> rule,
                std::vector<std::vector<int32_t>>* seen = nullptr) {
  auto logits = std::make_shared<std::vector<float>>();
  return {1, context, test_vocabulary, [=](std::span<const std::span<const int32_t>> texts) {
            std::span<const int32_t> tokens = texts[0];
            if (seen) seen->emplace_back(tokens.begin(), tokens.end());
            *logits = rule(tokens.back());
            return std::span<const float>(*logits);
          }};
}

std::vector<float> counts_on(int32_t token) {
  std::vector<float> logits(test_vocabulary, 0.0f);
  logits[static_cast<size_t>((token + 1) % test_vocabulary)] = 3.0f;
  return logits;
}

const std::vector<float> test_shares = {0.1f, 0.2f, 0.4f, 0.25f, 0.05f};

std::vector<float> fixed(int32_t) {
  std::vector<float> logits;
  for (float share : test_shares) logits.push_back(std::log(share));
  return logits;
}

std::vector<double> frequencies(const std::vector<int32_t>& tokens) {
  std::vector<double> shares(test_vocabulary);
  for (int32_t token : tokens)
    shares[static_cast<size_t>(token)] += 1.0 / static_cast<double>(tokens.size());
  return shares;
}

GenerateOptions options(int64_t tokens, const SamplingOptions& sampling, uint64_t seed = 0) {
  return {sampling, tokens, seed};
}

TEST(Generate, TemperatureZeroTakesTheLikeliest) {
  std::vector<int32_t> prompt = {2};
  EXPECT_THAT(generate(model(8, counts_on), prompt, options(6, {.temperature = 0})),
              ElementsAre(3, 4, 0, 1, 2, 3));
  EXPECT_THAT(generate(model(8, counts_on), prompt, options(3, {.top_k = 1})),
              ElementsAre(3, 4, 0));
}

TEST(Generate, DrawsByTheModelsProbabilities) {
  std::vector<int32_t> prompt = {0};
  constexpr int64_t draws = 4000;  // three standard deviations of a share are below 0.024
  auto shares =
      frequencies(generate(model(1, fixed), prompt, options(draws, {.temperature = 1.0}, 5)));
  for (size_t i = 0; i < shares.size(); ++i)
    EXPECT_NEAR(shares[i], double{test_shares[i]}, 0.024) << i;
  // Temperature 1/2 squares the probabilities; of the two likeliest 0.16 and 0.0625 remain.
  shares = frequencies(
      generate(model(1, fixed), prompt, options(draws, {.temperature = 0.5, .top_k = 2}, 6)));
  EXPECT_NEAR(shares[2], 0.16 / 0.2225, 0.024);
  EXPECT_NEAR(shares[3], 0.0625 / 0.2225, 0.024);
}

// Of the shares 0.4, 0.25, 0.2, 0.1 and 0.05 the first two reach 0.6, the first three 0.66.
TEST(Generate, TopPKeepsTheFewestTokensThatReachTheShare) {
  std::vector<int32_t> prompt = {0};
  constexpr int64_t draws = 4000;
  auto shares = frequencies(generate(model(1, fixed), prompt, options(draws, {.top_p = 0.6}, 7)));
  EXPECT_NEAR(shares[2], 0.4 / 0.65, 0.024);
  EXPECT_NEAR(shares[3], 0.25 / 0.65, 0.024);
  shares = frequencies(generate(model(1, fixed), prompt, options(draws, {.top_p = 0.66}, 8)));
  EXPECT_NEAR(shares[1], 0.2 / 0.85, 0.024);
  EXPECT_EQ(shares[0] + shares[4], 0);
  // Of what top_k leaves, 0.4 and 0.25, the first is 0.61.
  shares =
      frequencies(generate(model(1, fixed), prompt, options(draws, {.top_k = 2, .top_p = 0.6}, 9)));
  EXPECT_EQ(shares[0] + shares[1] + shares[3] + shares[4], 0);
  EXPECT_EQ(generate(model(1, fixed), prompt, options(50, {.top_p = 1e-9})),
            std::vector<int32_t>(50, 2));
}

TEST(Generate, HandsOutEachTokenAndEndsWhenToldTo) {
  std::vector<int32_t> prompt = {0}, taken;
  auto tokens =
      generate(model(4, counts_on), prompt, options(9, {.temperature = 0}), [&](int32_t t) {
        taken.push_back(t);
        return t != 3;
      });
  EXPECT_THAT(tokens, ElementsAre(1, 2, 3));
  EXPECT_EQ(taken, tokens);
}

TEST(Generate, RefusesOptionsOutOfRange) {
  auto refusal = [](const SamplingOptions& sampling) {
    return message_of(Category::config, [&] { TokenSampler(test_vocabulary, sampling); });
  };
  for (double p : {0.0, -0.5, 1.5, std::nan("")})
    EXPECT_THAT(refusal({.top_p = p}), HasSubstr("use a share above 0, at most 1")) << p;
  EXPECT_THAT(refusal({.temperature = -1}), HasSubstr("the temperature is -1"));
  EXPECT_THAT(refusal({.top_k = -1}), HasSubstr("top k is -1"));
}

TEST(Generate, IsAFunctionOfTheSeed) {
  std::vector<int32_t> prompt = {0};
  auto text = [&](uint64_t seed, int64_t tokens) {
    return generate(model(4, fixed), prompt, options(tokens, {}, seed));
  };
  EXPECT_EQ(text(1, 100), text(1, 100));
  EXPECT_NE(text(1, 100), text(2, 100));
  auto longer = text(1, 130);
  longer.resize(100);
  EXPECT_EQ(longer, text(1, 100));  // each position draws on its own
}

TEST(Generate, LooksAtTheNewestTokensOfALongText) {
  std::vector<std::vector<int32_t>> seen;
  std::vector<int32_t> prompt = {0, 1};
  generate(model(3, counts_on, &seen), prompt, options(4, {.temperature = 0}));
  EXPECT_THAT(seen, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1, 2), ElementsAre(1, 2, 3),
                                ElementsAre(2, 3, 4)));
}

TEST(Generate, AWindowPassFillsUpTheWindowAndTakesTheRowOfTheLastToken) {
  std::vector<std::vector<int32_t>> windows;
  TextsPass pass = window_pass(3, 2, [&](std::span<const int32_t> window, std::span<float> logits) {
    windows.emplace_back(window.begin(), window.end());
    std::iota(logits.begin(), logits.end(), 0.0f);
  });
  std::vector<int32_t> text = {7, 8};
  for (size_t length : {1, 2}) {
    std::span<const int32_t> seen = std::span(text).first(length);
    auto first = static_cast<float>(2 * length - 2);
    EXPECT_THAT(pass.logits({&seen, 1}), ElementsAre(first, first + 1));
  }
  EXPECT_THAT(windows, ElementsAre(ElementsAre(7, 0, 0), ElementsAre(7, 8, 0)));
}

TEST(Generate, BeginsEachTextOnce) {
  int begun = 0;
  TextsPass pass = model(3, counts_on);
  pass.begin = [&](size_t) { ++begun; };
  std::vector<int32_t> prompt = {0, 1};
  generate(pass, prompt, options(4, {}));
  EXPECT_EQ(begun, 1);
}

TEST(GenerateTexts, OfNoTokensAreEmptyAndDrawNone) {
  std::vector<std::vector<int32_t>> prompts = {{2}, {0, 1}}, seen;
  auto take = [](size_t, int32_t) { return true; };
  EXPECT_THAT(generate_texts(model(8, counts_on, &seen), prompts, options(0, {}), take),
              ElementsAre(ElementsAre(), ElementsAre()));
  EXPECT_THAT(generate(model(8, counts_on, &seen), prompts[0], options(0, {})), ElementsAre());
  EXPECT_TRUE(seen.empty());
}

TEST(GenerateTexts, WithoutACacheWritesThemOneByOne) {
  std::vector<std::vector<int32_t>> prompts = {{2}, {0, 1}, {4}};
  TextsPass pass = model(8, counts_on);
  EXPECT_THAT(generate_texts(pass, prompts, options(3, {.temperature = 0})),
              ElementsAre(ElementsAre(3, 4, 0), ElementsAre(2, 3, 4), ElementsAre(0, 1, 2)));
  EXPECT_THAT(generate_texts(pass, {}, options(3, {})), ElementsAre());
}

// All prompts are checked before the first text is begun.
TEST(GenerateTexts, RefusesAnyBadPrompt) {
  std::vector<std::vector<int32_t>> seen;
  TextsPass pass = model(8, counts_on, &seen);
  auto refusal = [&](Category category, const std::vector<int32_t>& bad) {
    std::vector<std::vector<int32_t>> prompts = {{2}, bad};
    return message_of(category, [&] { generate_texts(pass, prompts, options(3, {})); });
  };
  EXPECT_THAT(refusal(Category::config, {}), HasSubstr("the prompt is empty"));
  EXPECT_THAT(
      refusal(Category::data, {1, 5}),
      HasSubstr("token 5 of the prompt is not in the vocabulary of the model, which has 0 to 4"));
  EXPECT_TRUE(seen.empty());
}

// What is shown after each part, then at the end.
std::vector<std::string> shown(std::vector<std::string> stop_words,
                               const std::vector<std::string>& parts) {
  TextStream stream(std::move(stop_words));
  std::vector<std::string> all;
  for (const std::string& part : parts) all.push_back(stream.add(part));
  all.push_back(stream.finish());
  return all;
}

TEST(TextStream, ShowsEachTokenAtOnce) {
  EXPECT_THAT(shown({}, {"a", "bc", ""}), ElementsAre("a", "bc", "", ""));
}

TEST(TextStream, PartsEndBetweenCharacters) {
  EXPECT_THAT(shown({}, {"a\xc3", "\xa9", "\xf0\x9f", "\x98", "\x80!"}),
              ElementsAre("a", "\xc3\xa9", "", "", "\xf0\x9f\x98\x80!", ""));
  EXPECT_THAT(shown({}, {"x\xe2\x82"}), ElementsAre("x", "\xe2\x82"));  // the end shows the rest
}

TEST(TextStream, BytesThatAreNoCharacterArePassedOn) {
  EXPECT_THAT(shown({}, {"\x80\x80\x80\x80", "\xff", "\xc0", "\xc3", "a"}),
              ElementsAre("\x80\x80\x80\x80", "\xff", "\xc0", "", "\xc3\x61", ""));
}

TEST(TextStream, EndsBeforeTheFirstStopWord) {
  EXPECT_THAT(shown({"END", "\n\n"}, {"one E", "N", "two EN", "D of", "more"}),
              ElementsAre("one ", "", "ENtwo ", "", "", ""));
  EXPECT_THAT(shown({"b", "abc"}, {"xa", "bc"}), ElementsAre("x", "", ""));
  TextStream stream({"stop"});
  stream.add("do not sto");
  EXPECT_FALSE(stream.stopped());
  stream.add("p");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, ABegunStopWordIsTextIfItEndsOtherwise) {
  EXPECT_THAT(shown({"aab"}, {"a", "a", "a", "c"}), ElementsAre("", "", "a", "aac", ""));
  EXPECT_THAT(shown({"stop"}, {"st"}), ElementsAre("", "st"));
  EXPECT_THAT(shown({"\xa9!"}, {"\xc3\xa9", "?"}), ElementsAre("", "\xc3\xa9?", ""));
}

TEST(TextStream, RefusesAnEmptyStopWord) {
  EXPECT_THAT(message_of(Category::config,
                         [] {
                           TextStream({"a", ""});
                         }),
              HasSubstr("a stop word is empty"));
}

}  // namespace
}  // namespace spire
