// What a run does, for people.
#pragma once
#include <string>

#include "models/model.h"

namespace spire::inline run {

// "classify images into 10 classes", "predict 3 values from 12 features". What the data offers and
// the task does not use is named: "...; labels are not used".
std::string task_text(Task task, const SampleSpec& spec);

}  // namespace spire::inline run
