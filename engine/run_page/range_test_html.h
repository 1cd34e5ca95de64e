// The page of a range test of the learning rate.
#pragma once
#include <string>

#include "engine/run/trainer/range_test.h"

namespace spire::inline run_page {

// title: plain text, such as the config's file. Needs no network and no script.
std::string range_test_html(const std::string& title, const RangeTest& test);

}  // namespace spire::inline run_page
