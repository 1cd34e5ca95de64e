// report.html: one run, or several over each other, as one page that needs no network and no
// script.
#pragma once
#include <string>
#include <vector>

#include <spire/commands/run_report.h>

#include "engine/run_page/run_files.h"

namespace spire::inline run_page {

// Returns a page in UTF-8, all tags closed. REQUIRES: at least one run. confusion: of the only run;
// null: the page says how to get one, if its task has classes.
std::string run_html(const std::vector<RunFiles>& runs, const ConfusionMatrix* confusion = nullptr);

// One line about a run: "done after 400 steps (0.52 epochs), best perplexity 11.17 at step 400".
std::string state_text(const RunFiles& run);

}  // namespace spire::inline run_page
