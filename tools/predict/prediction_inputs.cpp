#include "tools/predict/prediction_inputs.h"

#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr size_t max_prompt_bytes = 1 << 20;
constexpr size_t max_prompts_bytes = 64 << 20;

// place: "FILE:line", for messages.
std::string prompt_of(const std::string& line, const std::string& place) {
  auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("prompt") || !object["prompt"].is_string())
    fail(Category::data, "--prompts {}: expected {{\"prompt\": \"text\"}}, got {}", place,
         line.substr(0, 60));
  std::string prompt = object["prompt"];
  if (prompt.empty())
    fail(Category::data, "--prompts {}: the prompt is empty; give the text to continue", place);
  return prompt;
}

std::string content_of(const std::filesystem::path& path) {
  try {
    return read_stream(path, Category::data, max_prompts_bytes);
  } catch (const Error& error) {
    fail(Category::data, "--prompts {}", error.what());
  }
}

}  // namespace

PredictionInputs::PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                                   const Arguments& arguments, bool all_test, InputFiles& read)
    : skip_(arguments.predict.on_error == "skip"), silent_(arguments.log_level == "error") {
  if (arguments.predict.inputs.empty()) {
    if (arguments.predict.on_error)
      fail(Category::config,
           "--on-error works with inputs only; for the test data set data.on_error=skip");
    TestRows test = open_test_rows(config, spec, arguments.predict.checkpoint, classes, all_test);
    for (const std::string& note : test.notes) warn(note);
    for (const std::filesystem::path& file : test.files) read.add(file);
    rows_ = std::move(test.rows);
    return;
  }
  // The files are listed before the first is read, so that a bad name ends the command early.
  InputReport report = {.problem = [this](const std::string& text) { take_problem(text); },
                        .note = [this](const std::string& text) { warn(text); }};
  std::vector<ListedInput> files = list_inputs(arguments.predict.inputs, spec, report);
  for (const ListedInput& file : files) read.add(file.path);
  rows_ = open_inputs(std::move(files), spec, config.data, report);
}

void PredictionInputs::take_problem(const std::string& problem) {
  if (!skip_) fail(Category::data, "{}; --on-error skip leaves such inputs out", problem);
  ++skipped_;
  warn(problem + "; left out");
}

void PredictionInputs::take_diverged(const RowOrigin& origin) {
  bool file = !origin.file.path.empty();
  std::string problem = fmt::format(
      "{} {}: what the model finds is not finite: its weights or the input are too large, or no "
      "numbers",
      file ? origin.file.path.string() + ": row" : "sample", origin.row);
  if (!skip_)
    fail(Category::diverged, "{}{}", problem,
         file ? ", or add --on-error skip to leave such inputs out" : "");
  ++skipped_;
  warn(problem + "; left out");
}

void PredictionInputs::warn(const std::string& text) const {
  if (!silent_) print_log("warning: {}\n", text);
}

void PredictionInputs::finish(int64_t read) const {
  if (skipped_ > 0) warn(fmt::format("{} left out", counted(skipped_, "input")));
  std::string left_out = rows_->left_out();
  if (!left_out.empty()) warn(left_out);
  if (read == 0)
    fail(Category::data, "none of the inputs could be read{}",
         silent_ || (skipped_ == 0 && left_out.empty()) ? "" : "; the warnings above say why");
}

void PredictionInputs::tell(const std::string& truth) const {
  if (!silent_) print_log("truth: {}\n", truth);
}

std::string read_prompt(const PredictArguments& arguments) {
  if (!arguments.prompt_file) return "\n";
  std::string text;
  try {
    text = *arguments.prompt_file == "-"
               ? read_stream(STDIN_FILENO, "-", Category::data, max_prompt_bytes)
               : read_stream(*arguments.prompt_file, Category::data, max_prompt_bytes);
  } catch (const Error& error) {
    fail(Category::data, "--prompt-file {}", error.what());
  }
  // Editors end a file with a line end, which the user did not mean as text.
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::vector<std::string> read_prompts(const std::filesystem::path& path) {
  std::string text = content_of(path);
  bool objects = path.extension() == ".jsonl";
  std::vector<std::string> prompts;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    prompts.push_back(objects ? prompt_of(line, fmt::format("{}:{}", path.string(), number))
                              : line);
  }
  if (prompts.empty())
    fail(Category::data, "--prompts {}: has no prompts; write one a line", path.string());
  return prompts;
}

}  // namespace spire
