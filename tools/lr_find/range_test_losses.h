// What a range test of the learning rate (range_test.h) makes of its losses.
#pragma once
#include "tools/lr_find/range_test.h"

namespace spire {

// Fills in smoothed, lowest and steepest from the losses.
void judge(RangeTest& test);

}  // namespace spire
