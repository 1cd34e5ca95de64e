#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/config/dataset_kinds.h"
#include "engine/config/scalar.h"
#include "engine/config/text.h"
#include "engine/config/value.h"

namespace spire {

namespace {

constexpr size_t max_file = 1 << 20;  // bytes
constexpr size_t max_config_problems = 200;
constexpr std::string_view command_line = "command line", default_place = "default";

// Default of optimizer.lr. A rate that suits sgd is far too large for optimizers that scale each
// weight's step.
double default_rate(OptimizerConfig::Name optimizer) {
  using Name = OptimizerConfig::Name;
  if (optimizer == Name::adam || optimizer == Name::adamw) return 0.001;
  if (optimizer == Name::lamb) return 0.01;
  return optimizer == Name::lars ? 1.0 : OptimizerConfig().lr;
}

// Tells whether the data probably consists of images. An HDF5 file may contain anything.
bool holds_images(const DataConfig& data) {
  if (data.name == "synthetic") return data.synthetic.kind == SyntheticConfig::Kind::images;
  const DatasetKind* kind = find_dataset_kind(data.name);
  return !kind || kind->images;
}

// YAML event handler that records the beginning of documents only.
class DocumentStart : public YAML::EventHandler {
 public:
  YAML::Mark mark;

  void OnDocumentStart(const YAML::Mark& at) override { mark = at; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Returns the beginning of a second document, if there is one. Load() would drop it silently, and
// LoadAll() loops forever on a stray bracket, which it takes for endless empty documents.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  bool second = parser.HandleNextDocument(start) && parser.HandleNextDocument(start);
  return second ? std::optional(start.mark) : std::nullopt;
}

bool is_layers(const Field& field, RunConfig& config) {
  return std::holds_alternative<std::vector<LayerConfig>*>(field.slot(config));
}

bool takes_words(const Field* field, RunConfig& config) {
  return field != nullptr && !field->pairs && !field->maps &&
         std::holds_alternative<std::vector<std::string>*>(field->slot(config));
}

// Returns the words of a list that is typed without brackets where they have marks that mean
// something else in YAML, such as the # of a comment; null: the value is YAML.
YAML::Node plain_words(const Field* field, const std::string& value, RunConfig& config) {
  bool has_marks = value.find_first_of("#?*&!%@`|>") != value.npos;
  return has_marks && takes_words(field, config) ? words_at_commas(value) : YAML::Node();
}

// Returns the value; in brackets if it is a list without them that begins with a quoted word, with
// which a document of YAML ends.
std::string as_document(const Field* field, const std::string& value, RunConfig& config) {
  size_t first = value.find_first_not_of(" \t");
  bool quoted = first != value.npos && (value[first] == '\'' || value[first] == '"');
  bool list = quoted && value.find(',') != value.npos && takes_words(field, config);
  return list ? "[" + value + "]" : value;
}

// Whether the value of an override is a word that counts as it stands: a name of a file may have
// blanks, # and colons, which mean something else in YAML. A quoted one, or none, is YAML.
bool is_verbatim(const Field* field, const std::string& value, RunConfig& config) {
  if (field == nullptr || !field->choices.empty() ||
      !std::holds_alternative<std::string*>(field->slot(config)))
    return false;
  if (value.find_first_not_of(" \t\r\n") == value.npos) return false;
  bool quoted = value[0] == '\'' || value[0] == '"';
  return !quoted && !YAML::IsNullString(value);
}

// Returns what YAML would drop from the text as a comment, or "".
std::string comment_in(const std::string& text) {
  constexpr std::string_view blanks = " \t\r\n", starts = " \t\r\n[{,:";
  char quote = 0, before = ' ';
  for (size_t at = 0; at < text.size(); before = text[at++]) {
    char c = text[at];
    bool opens = quote == 0 && starts.find(before) != starts.npos && (c == '\'' || c == '"');
    bool doubled = quote == '\'' && text.compare(at, 2, "''") == 0;
    if (quote == 0 && c == '#' && blanks.find(before) != blanks.npos) return text.substr(at);
    if (opens)
      quote = c;
    else if (doubled || (quote == '"' && c == '\\'))
      ++at;
    else if (c == quote)
      quote = 0;
    if (at >= text.size()) break;
  }
  return "";
}

// Applies one source after the other to a config; collects sources and problems.
class Loader {
 public:
  Loader() {
    for (const Field& field : schema()) result_.source[field.path] = default_place;
  }
  void apply_text(const ConfigText& text);
  void apply_override(const std::string& assignment);
  void report(const std::string& place, std::string_view path, std::string_view text);
  void report(const std::string& problem);
  ResolvedConfig finish();

 private:
  // A source of keys: a file, whose lines are named in messages, or the command line.
  struct Origin {
    std::string name;
    bool has_lines;
    // yaml-cpp counts lines from 0, and gives none for some errors.
    std::string at(const YAML::Mark& mark) const {
      if (!has_lines) return name;
      return mark.is_null() ? fmt::format("{}:1:1", name)
                            : fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    }
  };

  std::optional<YAML::Node> parse(const std::string& text, const Origin& origin,
                                  std::string_view path);
  void apply_map(const YAML::Node& map, const std::string& prefix, const Origin& origin);
  void apply(const std::string& path, const YAML::Node& value, const std::string& place,
             const Origin& origin);
  void apply_field(const Field& field, const YAML::Node& value, const std::string& place,
                   const Origin& origin);
  void report_conflict(const Problem& problem);
  void place_layers(const Field& field, const YAML::Node& value, const Origin& origin);
  void derive_batch();
  void derive_name();
  void derive_optimizer();
  void warn();
  bool given(const std::string& path) const { return result_.source.at(path) != default_place; }

  ResolvedConfig result_;
  std::map<std::string, std::string> notes_;  // of each key that was set, by its last value
  std::vector<std::string> problems_;
};

void Loader::report(const std::string& place, std::string_view path, std::string_view text) {
  report(path.empty() ? fmt::format("{}: {}", place, text)
                      : fmt::format("{}: {}: {}", place, excerpt(path), text));
}

void Loader::report(const std::string& problem) {
  if (problems_.size() < max_config_problems) {
    problems_.push_back(printable(problem));
  } else if (problems_.size() == max_config_problems) {
    problems_.push_back("there are more problems; correct these first");
  }
}

// Parses the one document in `text`; a null node when it is empty. Reports bad text and returns
// nullopt.
std::optional<YAML::Node> Loader::parse(const std::string& text, const Origin& origin,
                                        std::string_view path) {
  try {
    if (std::string comment = comment_in(text); !comment.empty() && !path.empty()) {
      report(origin.name, path,
             fmt::format("a # begins a comment, so that '{0}' would be left out; quote the value "
                         "({1}='\"...\"'), or leave it out yourself",
                         excerpt(comment), path));
      return {};
    }
    auto second = second_document(text);
    if (!second) return YAML::Load(text);
    report(origin.at(*second), path,
           "not valid YAML: text follows the end of the document; a config is one document");
  } catch (const YAML::Exception& error) {
    report(origin.at(error.mark), path, fmt::format("not valid YAML: {}", error.msg));
  } catch (const std::exception& error) {
    report(origin.at(YAML::Mark::null_mark()), path,
           fmt::format("not valid YAML: {}", error.what()));
  }
  return {};
}

void Loader::apply_text(const ConfigText& text) {
  Origin origin{text.name, text.has_lines};
  if (text.text.size() > max_file) {
    return report(
        origin.name, "",
        fmt::format("larger than {} bytes, so it is not a config; name a YAML file", max_file));
  }
  auto root = parse(text.text, origin, "");
  if (!root || root->IsNull()) return;
  if (root->IsMap()) return apply_map(*root, "", origin);
  report(origin.at(root->Mark()), "",
         fmt::format("expected lines of the form key: value, got {}", describe(*root)));
}

void Loader::apply_override(const std::string& assignment) {
  Origin origin{std::string(command_line), false};
  size_t equals = assignment.find('=');
  if (equals == assignment.npos || equals == 0) {
    return report(origin.name, "",
                  fmt::format("expected key.path=value, got '{}'", excerpt(assignment)));
  }
  std::string path = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const Field* field = find_field(path);
  if (is_verbatim(field, value, result_.config))
    return apply(field->path, YAML::Node(value), origin.name, origin);
  if (YAML::Node words = plain_words(field, value, result_.config); words.IsSequence())
    return apply(path, words, origin.name, origin);
  if (auto node = parse(as_document(field, value, result_.config), origin, path)) {
    apply(path, *node, origin.name, origin);
  }
}

// Applies the keys of a file or section. yaml-cpp keeps all entries of a key that is given twice.
void Loader::apply_map(const YAML::Node& map, const std::string& prefix, const Origin& origin) {
  std::map<std::string, int> lines;
  for (const auto& entry : map) {
    std::string place = origin.at(entry.first.Mark());
    if (!entry.first.IsScalar()) {
      report(place, prefix,
             fmt::format("expected the name of a key, got {}", describe(entry.first)));
      continue;
    }
    std::string path = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
    auto [earlier, first] = lines.emplace(path, entry.first.Mark().line + 1);
    if (!first) {
      report(place, path,
             origin.has_lines
                 ? fmt::format("given twice, first in line {}; remove one of them", earlier->second)
                 : "given twice; remove one of them");
    } else if (entry.first.Scalar().find('.') != std::string::npos) {
      report(place, path,
             fmt::format("keys in a file have no dots; nest it as {}:, then {}: below it, indented",
                         excerpt(section_of(entry.first.Scalar())),
                         excerpt(leaf_of(entry.first.Scalar()))));
    } else {
      apply(path, entry.second, place, origin);
    }
  }
}

// Applies a value to the key or section of that path, or reports an unknown one.
void Loader::apply(const std::string& path, const YAML::Node& value, const std::string& place,
                   const Origin& origin) {
  if (problems_.size() > max_config_problems) return;
  if (const Field* field = find_field(path)) return apply_field(*field, value, place, origin);
  if (is_section(path)) {
    if (value.IsMap()) return apply_map(value, path, origin);
    if (value.IsNull()) return;  // a section whose every line is a comment
    std::string near = find_field(path + ".name") ? path + ".name" : key_of_leaf(path);
    return report(
        origin.at(value.Mark()), path,
        fmt::format("expected a map of keys, got {}{}", describe(value), did_you_mean(near)));
  }
  if (leaf_of(path) == "<<")
    return report(place, path, "YAML merge keys are not supported; write the keys out");
  std::string near = nearest_key(path);
  report(place, path,
         "unknown key" +
             (near.empty() ? "; trainer --help-config lists all keys" : did_you_mean(near)));
}

void Loader::apply_field(const Field& field, const YAML::Node& value, const std::string& place,
                         const Origin& origin) {
  try {
    notes_[field.path] = assign(field, value, result_.config);
    result_.source[field.path] = value.IsNull() ? std::string(default_place) : place;
    if (is_layers(field, result_.config)) place_layers(field, value, origin);
  } catch (const NodeProblems& problems) {
    for (const NodeProblem& each : problems.all())
      report(value.IsNull() ? place : origin.at(each.mark), "",
             fmt::format("{}: {}", each.path, each.text));
    result_.source[field.path] = place;
  } catch (const Error& error) {
    report(value.IsNull() ? place : origin.at(value.Mark()), field.path, error.what());
    // Conflicts with other keys are looked for only among good values; this one counts as given.
    result_.source[field.path] = place;
  }
}

// Records the places of the layers. A list replaces that of an earlier source.
void Loader::place_layers(const Field& field, const YAML::Node& value, const Origin& origin) {
  std::erase_if(result_.source,
                [&](const auto& entry) { return entry.first.starts_with(field.path + "["); });
  for (const auto& [path, mark] : layer_marks(value, field.path))
    result_.source[path] = origin.at(mark);
}

// Derives the third of batch_size, global_batch and towers from two given ones.
void Loader::derive_batch() {
  RunConfig& config = result_.config;
  if (!config.global_batch) return;
  bool open = !given("batch_size") || config.batch_size == 0;
  if (config.towers && open) {
    config.batch_size = batch_of_tower(*config.global_batch, *config.towers);
    result_.source["batch_size"] = "global_batch / towers";
  } else if (!config.towers && !open) {
    config.towers = (*config.global_batch + config.batch_size - 1) / config.batch_size;
    result_.source["towers"] = "global_batch / batch_size";
  }
}

// Sets model.name: layers where model.layers is given and the name is not.
void Loader::derive_name() {
  if (result_.config.model.layers.empty() || result_.config.model.name != "auto") return;
  result_.config.model.name = "layers";
  result_.source["model.name"] = "model.layers";
}

// Chooses an optimizer and its rate where the config has no key of it: adam for features and
// tokens, where sgd at the rate for images diverges as soon as values are large.
void Loader::derive_optimizer() {
  OptimizerConfig& optimizer = result_.config.optimizer;
  bool silent = std::ranges::none_of(schema(), [&](const Field& field) {
    return section_of(field.path) == "optimizer" && given(field.path);
  });
  if (silent && !holds_images(result_.config.data)) {
    optimizer.name = OptimizerConfig::Name::adam;
    result_.source["optimizer.name"] =
        fmt::format("default for data.name {}", result_.config.data.name);
  }
  if (given("optimizer.lr") || optimizer.name == OptimizerConfig::Name::sgd) return;
  optimizer.lr = default_rate(optimizer.name);
  result_.source["optimizer.lr"] = fmt::format("default for {}", word_of(optimizer.name));
}

// Warns only at the end: a later source may have made an earlier key useful, or useless.
void Loader::warn() {
  for (const Field& field : schema()) {
    if (const std::string& note = notes_[field.path]; !note.empty())
      result_.warnings.push_back(
          fmt::format("{}: {}: {}", result_.source[field.path], field.path, note));
    if (!given(field.path)) continue;
    if (!unused(field, result_.config)) continue;
    result_.warnings.push_back(fmt::format("{}: {} {}", result_.source[field.path], field.path,
                                           unused_text(field, result_.config)));
  }
  for (const Problem& doubt : find_doubts(result_.config))
    result_.warnings.push_back(
        fmt::format("{}: {}: {}", result_.source[doubt.path], doubt.path, doubt.text));
}

// Reports a conflict at the place of the key, or of the other key where the first is a default.
void Loader::report_conflict(const Problem& problem) {
  if (given(problem.path) || problem.other.empty())
    return report(result_.source[problem.path], problem.path, problem.text);
  std::string text = fmt::format("{} ({} is not set, and its default is {})", problem.text,
                                 problem.path, value_text(*find_field(problem.path), RunConfig()));
  report(result_.source[problem.other], problem.path, text);
}

ResolvedConfig Loader::finish() {
  // A key that was refused has its default: a conflict with that would mislead.
  if (problems_.empty()) {
    derive_batch();
    derive_name();
    derive_optimizer();
    for (const Problem& problem : find_conflicts(result_.config)) report_conflict(problem);
  }
  if (!problems_.empty()) fail(Category::config, "{}", fmt::join(problems_, "\n"));
  warn();
  return std::move(result_);
}

// Whether a file has blank lines and comments alone, as that of a failed command whose output went
// there. Defaults would train on data that nobody named.
bool says_nothing(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos && line[first] != '#' && !line.starts_with("---")) return false;
  }
  return true;
}

ResolvedConfig apply_all(Loader& loader, const std::vector<std::string>& overrides) {
  for (const auto& assignment : overrides) loader.apply_override(assignment);
  return loader.finish();
}

}  // namespace

std::set<std::string> defaulted_keys(const ResolvedConfig& resolved) {
  std::set<std::string> keys;
  for (const auto& [path, source] : resolved.source)
    if (source == default_place) keys.insert(path);
  return keys;
}

ResolvedConfig parse_config(const std::vector<ConfigText>& texts,
                            const std::vector<std::string>& overrides) {
  Loader loader;
  for (const ConfigText& text : texts) loader.apply_text(text);
  return apply_all(loader, overrides);
}

ConfigText read_config_file(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    fail(Category::config, "{}: is a folder; name a YAML file", file);
  std::string text = read_stream(file, Category::config, max_file);
  if (says_nothing(text))
    fail(Category::config,
         "{}: is empty; write the keys of the run into it (trainer init drafts them), or leave it "
         "out",
         file);
  return {.name = file, .text = std::move(text)};
}

ResolvedConfig load_config(const std::vector<std::string>& files,
                           const std::vector<std::string>& overrides,
                           const std::vector<ConfigText>& later) {
  Loader loader;
  for (const std::string& file : files) {
    try {
      loader.apply_text(read_config_file(file));
    } catch (const Error& unread) {
      loader.report(unread.what());
    }
  }
  for (const ConfigText& text : later) loader.apply_text(text);
  return apply_all(loader, overrides);
}

}  // namespace spire
