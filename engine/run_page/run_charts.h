// The charts of a run's page: loss, metric, learning rate, gradient, speed, time, memory, devices.
#pragma once
#include <string>
#include <vector>

#include "engine/page/svg_bars.h"
#include "engine/page/svg_curves.h"
#include "engine/run_page/run_files.h"

namespace spire::inline run_page {

// Curves of one or several runs over each other; those of several runs are told apart by their
// labels. Charts without values are left out.
std::vector<CurveChart> learning_charts(const std::vector<RunFiles>& runs);

// Of one run: parts of a step on each other, over the epochs. Without steps it has no curves.
CurveChart time_chart(const RunFiles& run);

// Of one run: a curve a device. Charts of numbers that no device tells are left out.
std::vector<CurveChart> device_charts(const RunFiles& run);

// Of one run that has ended: planned and peak bytes by kind. Without both it has no bars.
BarChart memory_chart(const RunFiles& run);

}  // namespace spire::inline run_page
