// The newest sample that a run wrote at an evaluation, as HTML: text, or an image within the page.
#pragma once
#include <string>

#include "engine/run_page/run_files.h"

namespace spire::inline run_page {

std::string sample_html(const SampleFile& sample);

// RFC 4648, with padding.
std::string base64(const std::string& bytes);

}  // namespace spire::inline run_page
