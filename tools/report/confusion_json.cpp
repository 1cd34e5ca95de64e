#include "tools/report/confusion_json.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/observe/formatting.h"
#include "engine/observe/page/page.h"
#include "engine/observe/scores.h"

namespace spire {
namespace {

using Json = nlohmann::json;

constexpr size_t most_classes = 32;  // of a whole table
constexpr size_t listed_pairs = 20;

Json known(const std::optional<double>& score) {
  return score ? Json(drawn_number(*score)) : Json();
}

// Rows: the true class, the class that was found, how often.
Json pairs_json(const ConfusionMatrix& matrix) {
  size_t classes = matrix.classes.size();
  std::vector<std::tuple<int64_t, size_t, size_t>> pairs;
  for (size_t row = 0; row < classes; ++row)
    for (size_t column = 0; column < classes; ++column)
      if (int64_t count = matrix.counts[row * classes + column]; row != column && count > 0)
        pairs.emplace_back(-count, row, column);
  std::ranges::sort(pairs);
  Json rows = Json::array();
  for (const auto& [count, row, column] : pairs)
    if (rows.size() < listed_pairs)
      rows.push_back({matrix.classes[row], matrix.classes[column], count_text(-count)});
  return rows;
}

std::string caption_of(const ConfusionMatrix& matrix, const std::vector<ClassScore>& scores) {
  int64_t all = 0, right = 0;
  for (const ClassScore& score : scores) {
    all += score.actual;
    right += score.tp;
  }
  auto f1 = f1_macro(scores);
  return fmt::format("Test data by {}: {} of {} right{}{}", matrix.checkpoint, count_text(right),
                     count_text(all), f1 ? fmt::format(", macro F1 {:.4f}", *f1) : "",
                     scores.size() > most_classes ? "; classes most often taken for another" : "");
}

}  // namespace

Json confusion_json(const ConfusionMatrix& matrix) {
  size_t classes = matrix.classes.size();
  require(matrix.counts.size() == classes * classes, "{} counts for {} classes",
          matrix.counts.size(), classes);
  std::vector<ClassScore> scores = class_scores(matrix.counts, classes);
  Json json = {{"caption", caption_of(matrix, scores)},
               {"classes", matrix.classes},
               {"counts", matrix.counts},
               {"scores", Json::array()},
               {"wrong", Json::array()}};
  for (const ClassScore& score : scores)
    json["scores"].push_back({{"actual", score.actual},
                              {"recall", known(score.recall())},
                              {"precision", known(score.precision())},
                              {"f1", known(score.f1())}});
  if (classes > most_classes) {
    json["counts"] = json["scores"] = Json::array();
    json["pairs"] = pairs_json(matrix);
  }
  for (const WrongAnswer& answer : matrix.most_wrong)
    json["wrong"].push_back({{"sample", answer.sample},
                             {"actual", matrix.classes.at(answer.actual)},
                             {"found", matrix.classes.at(answer.found)},
                             {"sure", drawn_number(answer.sure)},
                             {"png", base64(answer.png)}});
  return json;
}

}  // namespace spire
