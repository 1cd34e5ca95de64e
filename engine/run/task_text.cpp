#include "engine/run/task_text.h"

#include <spire/error.h>

#include "engine/base/message_words.h"

namespace spire::inline run {
namespace {

constexpr size_t max_names = 5;

std::string input_text(const SampleSpec& spec) {
  const Column& input = spec.columns.front();
  return input.name == "features" ? counted(input.shape.elements(), "feature") : input.name;
}

std::string classes_text(const SampleSpec& spec) {
  std::string text = counted(spec.classes, "class");
  return spec.class_names.empty() ? text : text + ": " + quoted_list(spec.class_names, max_names);
}

}  // namespace

std::string task_text(Task task, const SampleSpec& spec) {
  switch (task) {
    case Task::classify:
      return fmt::format("classify {} into {}", input_text(spec), classes_text(spec));
    case Task::regress:
      return fmt::format("predict {} from {}",
                         counted(spec.find("values")->shape.elements(), "value"), input_text(spec));
    case Task::predict_tokens:
      return fmt::format("predict the next token, one of {}, from up to {}", spec.classes,
                         spec.columns.front().shape[0]);
    case Task::reconstruct:
      break;
  }
  std::string text = "make images like those that are read";
  for (const char* other : {"labels", "values"})
    if (spec.find(other) != nullptr) text += fmt::format("; {} are not used", other);
  return text;
}

}  // namespace spire::inline run
