#include "tools/predict/prediction_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "engine/base/fail.h"
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
         file ? "; correct them, or add --on-error skip to leave such inputs out" : "");
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

namespace {

// The shortest number that reads back as the same float.
std::string value_text(double value) {
  return fmt::format("{}", static_cast<float>(value));
}

// Returns log(sum_j exp(x_j)) - x_label, computed in fp64.
double cross_entropy(std::span<const float> logits, size_t label) {
  double largest = -INFINITY, sum = 0;
  for (float logit : logits) largest = std::max(largest, double{logit});
  for (float logit : logits) sum += std::exp(double{logit} - largest);
  return std::log(sum) + largest - double{logits[label]};
}

bool is_plain_entropy(const LossConfig& loss) {
  using Name = LossConfig::Name;
  return (loss.name == Name::automatic || loss.name == Name::cross_entropy) &&
         loss.label_smoothing == 0 && loss.class_weights.empty() && loss.z_loss == 0;
}

}  // namespace

std::vector<double> softmax(std::span<const float> logits) {
  // The largest logit is subtracted first, so that exp() does not overflow.
  double largest = -INFINITY, sum = 0;
  for (float logit : logits) largest = std::max(largest, double{logit});
  std::vector<double> shares;
  for (float logit : logits) sum += shares.emplace_back(std::exp(double{logit} - largest));
  for (double& share : shares) share /= sum;
  return shares;
}

PredictionRows::PredictionRows(const SampleSpec& spec, ModelTask task, int64_t outputs,
                               const RowFormat& format)
    : spec_(spec), task_(task), format_(format), outputs_(outputs) {}

// Writes what stands before the first row.
void PredictionRows::begin(bool truth) {
  truth_ = truth;
  if (format_.json) {
    text_.push_back('[');
    return;
  }
  text_.append(format_.files ? "input,row" : "sample");
  if (classes()) text_.append(",class,name,probability");
  for (int64_t i = 0; i < outputs_; ++i)
    text_ += fmt::format(",{}_{}", classes() ? "p" : "value", i);
  if (truth_ && classes()) text_.append(",truth");
  for (int64_t i = 0; truth_ && !classes() && i < outputs_; ++i)
    text_ += fmt::format(",truth_{}", i);
  text_.push_back('\n');
}

void PredictionRows::add(const RowOrigin& origin, std::span<const float> outputs) {
  if (first_) begin(format_.truth || origin.has_truth());
  std::vector<double> numbers =
      classes() ? softmax(outputs) : std::vector<double>(outputs.begin(), outputs.end());
  auto best = static_cast<size_t>(std::ranges::max_element(numbers) - numbers.begin());
  format_.json ? add_json(origin, numbers, best) : add_csv(origin, numbers, best);
  first_ = false;
}

std::string PredictionRows::class_name(size_t index) const {
  return index < spec_.class_names.size() ? spec_.class_names[index] : std::to_string(index);
}

void PredictionRows::add_csv(const RowOrigin& origin, std::span<const double> numbers,
                             size_t best) {
  if (format_.files) text_ += csv_field(origin.file.path.string()) + ",";
  text_ += std::to_string(origin.row);
  if (classes())
    text_ += fmt::format(",{},{},{:.6g}", best, csv_field(class_name(best)), numbers[best]);
  for (double number : numbers)
    text_ += classes() ? fmt::format(",{:.6g}", number) : "," + value_text(number);
  if (truth_) add_truth_csv(origin);
  text_.push_back('\n');
}

// Leaves the field empty where an input does not say what it is.
void PredictionRows::add_truth_csv(const RowOrigin& origin) {
  if (classes()) {
    text_.push_back(',');
    if (origin.label) text_ += csv_field(class_name(static_cast<size_t>(*origin.label)));
    return;
  }
  for (size_t i = 0; i < static_cast<size_t>(outputs_); ++i)
    text_ += i < origin.values.size() ? "," + value_text(origin.values[i]) : ",";
}

void PredictionRows::add_json(const RowOrigin& origin, std::span<const double> numbers,
                              size_t best) {
  nlohmann::ordered_json row;
  if (format_.files) row["input"] = origin.file.path.string();
  row[format_.files ? "row" : "sample"] = origin.row;
  if (classes()) {
    row["class"] = best;
    row["name"] = class_name(best);
    row["probability"] = numbers[best];
  }
  row[classes() ? "probabilities" : "values"] = numbers;
  if (origin.label) row["truth"] = class_name(static_cast<size_t>(*origin.label));
  if (!origin.values.empty()) row["truth"] = origin.values;
  text_ += first_ ? "\n" : ",\n";
  text_ += row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string PredictionRows::text() {
  return std::exchange(text_, "");
}

std::string PredictionRows::finish() {
  if (first_) begin(false);
  if (format_.json) text_ += "\n]\n";
  return text();
}

TruthSummary::TruthSummary(ModelTask task, const LossConfig& loss)
    : task_(task),
      binary_(loss.name == LossConfig::Name::binary),
      plain_entropy_(is_plain_entropy(loss)) {}

void TruthSummary::add(const RowOrigin& origin, std::span<const float> outputs) {
  bool classes = task_ == ModelTask::classify;
  if (binary_ || (classes ? !origin.label : origin.values.empty())) return;
  ++rows_;
  if (classes) {
    auto label = static_cast<size_t>(*origin.label);
    auto best = static_cast<size_t>(std::ranges::max_element(outputs) - outputs.begin());
    right_ += best == label ? 1 : 0;
    loss_ += cross_entropy(outputs, label);
    return;
  }
  for (size_t i = 0; i < std::min(outputs.size(), origin.values.size()); ++i) {
    double error = double{outputs[i]} - double{origin.values[i]};
    squares_ += error * error;
    ++values_;
  }
}

std::string TruthSummary::text() const {
  if (rows_ == 0) return "";
  std::string of = fmt::format("of {}", counted(rows_, "sample"));
  auto rows = static_cast<double>(rows_);
  if (task_ != ModelTask::classify)
    return fmt::format("rmse {:.6g} {}", std::sqrt(squares_ / static_cast<double>(values_)), of);
  std::string loss = plain_entropy_ ? fmt::format("loss {:.6g} ", loss_ / rows) : "";
  return fmt::format("{}accuracy {:.4f} {}", loss, static_cast<double>(right_) / rows, of);
}

}  // namespace spire
