#include "tools/init/draft_config.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "engine/data/dataset.h"
#include "engine/observe/formatting.h"
#include "tools/dataset/dataset_facts.h"

namespace spire {

namespace {

constexpr const char* target_key = "data.csv.target";

// The numbers that decide, and in words what they are of.
struct DataFacts {
  std::string input;                             // name of the first column
  Shape shape;                                   // of one sample
  int64_t samples = 0, classes = 0, values = 0;  // values: of a sample
  bool labels = false, pairs = false;            // pairs: images have a target image or a mask
};

DataFacts facts_of(const DatasetDescription& data) {
  const Column& first = data.spec.columns.front();
  const Column* values = data.spec.find("values");
  return {.input = first.name,
          .shape = first.shape,
          .samples = data.train.samples,
          .classes = data.spec.classes,
          .values = values ? values->shape.elements() : 0,
          .labels = data.spec.find("labels") != nullptr,
          .pairs = data.spec.find("target_images") || data.spec.find("masks")};
}

bool is_sequence(const DataFacts& facts) {
  return facts.input == "features" && facts.shape.rank() == 2;
}

int64_t side_of(const DataFacts& facts) {
  return std::max(facts.shape[0], facts.shape[1]);
}

// Names of models, and why one suits.
std::pair<std::string, std::string> model_of(const DataFacts& facts) {
  if (facts.input == "tokens") return {"gpt", "a transformer that predicts the next token"};
  if (is_sequence(facts)) return {"layers", "features step by step: a recurrent layer"};
  if (facts.input != "images") return {"mlp", "features in no order: dense layers"};
  if (facts.pairs) return {"unet", "images with a target for each pixel"};
  if (!facts.labels && facts.values == 0)
    return {"autoencoder", "images without labels: it learns to make them again"};
  if (side_of(facts) < 12) return {"mlp", "the images are too small for convolutions"};
  if (side_of(facts) <= 32 && facts.shape[2] == 1)
    return {"cnn", "small grey images: two convolutions are enough"};
  return {"resnet", "residual network (He et al. 2015)"};
}

// The keys of the model, and the rate that suits it at a global batch of 128 (tokens: of any).
double set_model(const DataFacts& facts, const std::string& name, ConfigDraft& draft) {
  if (name == "resnet") {
    bool large = side_of(facts) > 64;
    draft.set("model.depth", large ? "18" : "20", large ? "or 34, 50" : "or 32, 44, 56");
    if (large) draft.set("model.variant", "imagenet", "for images of more than 64 pixels");
    return large ? 0.05 : 0.1;
  }
  if (name == "mlp") {
    bool few = facts.samples < 10000;
    draft.set("model.hidden", few ? "[64, 64]" : "[256, 128]",
              few ? "few samples: few weights" : "widths of the dense layers");
    return 0.001;
  }
  if (name == "layers") {
    std::string units = facts.labels ? "classes" : fmt::format("{}", facts.values);
    draft.set("model.layers",
              fmt::format("[lstm: {{units: 64, output: last}}, dense: {{units: {}}}]", units),
              "or gru, conv1d, transformer_block");
    return 0.001;
  }
  if (name == "gpt") {
    int64_t tokens = facts.samples * facts.shape[0];
    int64_t width = tokens < 10'000'000 ? 128 : 384;
    draft.set("model.blocks", width == 128 ? "4" : "6");
    draft.set("model.width", fmt::format("{}", width),
              fmt::format("for {} tokens; more text feeds a wider model", count_text(tokens)));
    draft.set("model.heads", width == 128 ? "4" : "6");
    return width == 128 ? 2e-3 : 1e-3;
  }
  return name == "cnn" || name == "vgg" || name == "lenet" ? 0.05 : 0.001;
}

bool uses_sgd(const std::string& name) {
  return name == "cnn" || name == "vgg" || name == "lenet" || name == "resnet";
}

// Samples of a step: a power of two with 50 steps or more in an epoch, at most 128.
int64_t batch_of(const DataFacts& facts) {
  int64_t most = facts.input == "tokens" ? 32 : 128, batch = 8;
  while (2 * batch <= most && facts.samples / (2 * batch) >= 50) batch *= 2;
  return batch;
}

void set_batch(int64_t batch, ConfigDraft& draft) {
  int64_t towers = std::clamp<int64_t>(batch / 8, 1, 4);
  draft.set("batch_size", fmt::format("{}", batch / towers), "samples of a tower a step");
  draft.set("towers", fmt::format("{}", towers),
            towers == 1 ? fmt::format("global batch {}, on one device", batch)
                        : fmt::format("global batch {}, with the same result on 1 to {} devices",
                                      batch, towers));
  draft.set("devices", "auto", "or cpu, 2xcpu, cuda, [cuda:0, cuda:1]");
}

void set_optimizer(const std::string& name, double rate, int64_t batch, ConfigDraft& draft) {
  bool sgd = uses_sgd(name), text = name == "gpt";
  draft.set("optimizer.name", sgd ? "sgd" : text ? "adamw" : "adam");
  double lr = sgd ? rate * static_cast<double>(batch) / 128 : rate;
  draft.set("optimizer.lr", fmt::format("{:.4g}", lr),
            sgd ? fmt::format("{} x {} / 128: it follows the batch; trainer lr-find measures it",
                              rate, batch)
                : "trainer lr-find measures it");
  if (sgd) draft.set("optimizer.momentum", "0.9");
  if (sgd) draft.set("optimizer.weight_decay", "5.0e-4");
  if (text) draft.set("optimizer.weight_decay", "0.1");
  if (text) draft.set("optimizer.decay", "matrices", "no biases, no gains");
  if (text || name == "layers") draft.set("optimizer.clip_norm", "1.0");
}

// As many epochs as make about 3000 steps.
void set_length(const DataFacts& facts, int64_t batch, ConfigDraft& draft) {
  constexpr int64_t wanted = 3000;
  int64_t per_epoch = (facts.samples + batch - 1) / batch;
  int64_t epochs = std::clamp<int64_t>((wanted + per_epoch - 1) / per_epoch, 3, 100);
  draft.set("schedule.name", "cosine", "the rate falls to 0 at the end");
  draft.set("schedule.warmup_steps", fmt::format("{}", std::min<int64_t>(100, per_epoch)));
  draft.set("epochs", fmt::format("{}", epochs),
            fmt::format("{} steps each", count_text(per_epoch)));
}

// The last name of a path, without its ending: "flowers"; of "." that of the folder.
std::string name_of(const std::filesystem::path& path) {
  std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).stem().string();
}

std::string facts_text(const RecognizedData& data, const DatasetDescription& description) {
  const DataFacts facts = facts_of(description);
  std::string text = fmt::format("{}: {} for training, {} for testing, {} {}", data.what,
                                 counted(facts.samples, "sample"), description.test.samples,
                                 facts.input, to_string(facts.shape));
  if (facts.labels) text += fmt::format(", {}", counted(facts.classes, "class"));
  if (facts.input == "tokens") text += fmt::format(", a vocabulary of {}", facts.classes);
  return text;
}

// Adds the keys of data.KEY=VALUE, in the form that the config prints them.
void take_words(const std::vector<std::string>& words, bool has_target, RecognizedData& data) {
  if (words.empty()) return;
  std::vector<std::string> all;
  for (const auto& [key, value] : data.keys) all.push_back(key + "=" + value);
  all.insert(all.end(), words.begin(), words.end());
  ResolvedConfig read = parse_config({}, all);
  for (const std::string& word : words) {
    std::string key = word.substr(0, word.find('='));
    const Field* field = find_field(key);
    bool named = key == "data.path" || key == "data.name" || key == "data.tokens.text";
    if (named || field == nullptr || !key.starts_with("data."))
      fail(Category::config, "{}: {}; leave it out", word,
           named ? "--data names the data" : "is no key of the data");
    if (has_target && key == target_key)
      fail(Category::config, "{}: --target names the target; leave one of them out", word);
    std::string value = value_text(*field, read.config);
    auto known = std::ranges::find(data.keys, key, &std::pair<std::string, std::string>::first);
    if (known == data.keys.end()) {
      data.keys.emplace_back(key, value);
    } else {
      known->second = value;
    }
  }
}

// The config of the recognized keys.
DataConfig config_of(const RecognizedData& data) {
  std::vector<std::string> words;
  for (const auto& [path, value] : data.keys) words.push_back(path + "=" + value);
  return parse_config({}, words).config.data;
}

// One line a column: "  width  numbers, 22 different from 0.1 to 2.5  feature".
std::vector<std::string> lines_of(const std::vector<TableColumnFacts>& columns) {
  TextTable table;
  for (const TableColumnFacts& column : columns)
    table.push_back({"", column.name, column.type, column.role});
  return aligned(table);
}

// The dataset; of a table with its columns.
DatasetDescription described(const DataConfig& config, std::vector<TableColumnFacts>& table) {
  if (auto found = find_unlabelled_test(config))
    fail(Category::config,
         "--data: {}: {} lacks the target '{}': give --data {}{}, and predict {} later",
         config.path, found->test.filename().string(), found->column, found->train.string(),
         found->last ? "" : fmt::format(" --target '{}'", found->column),
         found->test.filename().string());
  table = table_facts(config);
  try {
    DatasetDescription description = describe_dataset(config);
    set_roles(description.spec, table);
    return description;
  } catch (const Error& error) {
    if (table.empty() || error.category() != Category::data) throw;
    fail(Category::data, "{}; --target NAME makes another column the target\n{}", error.what(),
         fmt::join(lines_of(table), "\n"));
  }
}

// Writes the table's target into the config: its default is a place.
void note_table(const std::vector<TableColumnFacts>& table, RecognizedData& data,
                ConfigDraft& draft) {
  auto target = std::ranges::find(table, "target", &TableColumnFacts::role);
  if (target == table.end()) return;
  if (std::ranges::count(data.keys, target_key, &std::pair<std::string, std::string>::first) == 0)
    data.keys.emplace_back(target_key, yaml_word(target->name));
  draft.note("");
  for (const std::string& line : lines_of(table)) draft.note(line);
  draft.note(fmt::format("The target is {}; --target NAME takes another column.", target->name));
  draft.note("");
}

constexpr size_t comment_column = 32;

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  parts.push_back(path);
  return parts;
}

}  // namespace

void ConfigDraft::note(std::string text) {
  notes_.push_back(std::move(text));
}

void ConfigDraft::set(std::string path, std::string value, std::string why) {
  lines_.push_back({std::move(path), std::move(value), std::move(why)});
}

// A section is opened where a line is the first one in it.
std::string ConfigDraft::text() const {
  std::string text;
  for (const std::string& note : notes_) text += note.empty() ? "#\n" : fmt::format("# {}\n", note);
  std::vector<std::string_view> open;
  for (const DraftLine& line : lines_) {
    std::vector<std::string_view> parts = parts_of(line.path);
    size_t same = 0;
    while (same < open.size() && same + 1 < parts.size() && open[same] == parts[same]) ++same;
    for (size_t i = same; i + 1 < parts.size(); ++i)
      text += fmt::format("{:{}}{}:\n", "", 2 * i, parts[i]);
    open.assign(parts.begin(), parts.end() - 1);
    std::string row =
        fmt::format("{:{}}{}: {}", "", 2 * (parts.size() - 1), parts.back(), line.value);
    if (!line.why.empty()) row = fmt::format("{:<{}} # {}", row, comment_column, line.why);
    text += row + "\n";
  }
  return text;
}

std::string draft_config(const std::filesystem::path& path, const std::string& model,
                         const std::string& target, const std::vector<std::string>& words) {
  RecognizedData data = recognize_data(path);
  take_words(words, !target.empty(), data);
  if (!target.empty()) {
    if (data.keys[0].second != "csv")
      fail(Category::config, "--target: names a column of a table, but {} is {}; leave it out",
           path.string(), data.what);
    data.keys.emplace_back(target_key, yaml_word(target));
  }
  std::vector<TableColumnFacts> table;
  DatasetDescription description = described(config_of(data), table);
  DataFacts facts = facts_of(description);
  ConfigDraft draft;
  draft.note(facts_text(data, description));
  note_table(table, data, draft);
  draft.note("  trainer --config FILE --check     is it good?");
  draft.note("  trainer --config FILE             train");
  draft.note("Every key and its default: trainer --help-config");
  auto [name, why] = model == "auto" ? model_of(facts) : std::pair(model, std::string("--model"));
  draft.set("model.name", name, why);
  double rate = set_model(facts, name, draft);
  // Keys of a section follow each other.
  std::ranges::stable_sort(
      data.keys, {}, [](const auto& key) { return key.first.substr(0, key.first.rfind('.')); });
  for (const auto& [key, value] : data.keys) draft.set(key, value);
  int64_t batch = batch_of(facts);
  set_batch(batch, draft);
  set_optimizer(name, rate, batch, draft);
  set_length(facts, batch, draft);
  draft.set("seed", "7");
  draft.set("output", yaml_word("runs/" + name_of(path)));
  return draft.text();
}

}  // namespace spire
