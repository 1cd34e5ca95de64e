// report.html: one run, or several over each other, as one page.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/report/confusion.h"
#include "tools/report/run_files.h"

namespace spire {

// What views.report (engine/observe/page/report.js) draws. REQUIRES: at least one run. confusion: of
// the only run; null: the page says how to get one, if its task has classes.
nlohmann::json report_json(const std::vector<RunFiles>& runs,
                           const ConfusionMatrix* confusion = nullptr);
std::string report_html(const std::vector<RunFiles>& runs,
                        const ConfusionMatrix* confusion = nullptr);

// One line about a run: "done, step 400, epoch 0.52, best validation perplexity 11.17 at step 400".
std::string state_text(const RunFiles& run);

}  // namespace spire
