// A confusion matrix as a table in colours.
#pragma once
#include <string>

#include "engine/run_page/run_html.h"

namespace spire::inline run_page {

// REQUIRES: counts has classes x classes entries. Of many classes it shows the pairs that are most
// often taken for each other instead.
std::string confusion_html(const ConfusionMatrix& matrix);

}  // namespace spire::inline run_page
