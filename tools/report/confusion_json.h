// A confusion matrix as data of a page.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/report/confusion.h"

namespace spire {

// REQUIRES: counts has classes x classes entries. Of many classes it has the pairs that are most
// often taken for each other in place of the counts.
nlohmann::json confusion_json(const ConfusionMatrix& matrix);

}  // namespace spire
