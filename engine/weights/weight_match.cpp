#include "engine/weights/weight_match.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/name_patterns.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

// An entry of init.map.
struct Renaming {
  std::string theirs, ours;
};

Renaming parse(const std::string& entry) {
  size_t colon = entry.find(':');
  if (colon == entry.npos || colon == 0)
    fail(Category::config,
         "init.map: '{}' does not say what becomes of a name; write {{theirs: ours}}",
         printable(entry));
  Renaming renaming{entry.substr(0, colon), entry.substr(colon + 1)};
  auto stars = std::ranges::count(renaming.theirs, '*');
  if (stars > 1 || stars != std::ranges::count(renaming.ours, '*'))
    fail(Category::config,
         "init.map: '{}': a pattern has one '*' on either side, for the text that stays",
         printable(entry));
  return renaming;
}

// Returns the new name; nothing if the entry does not fit.
std::optional<std::string> renamed(const Renaming& entry, const std::string& name) {
  const std::string &theirs = entry.theirs, &ours = entry.ours;
  if (size_t star = theirs.find('*'); star != theirs.npos) {
    std::string before = theirs.substr(0, star), after = theirs.substr(star + 1);
    bool fits = name.size() >= before.size() + after.size() && name.starts_with(before) &&
                name.ends_with(after);
    if (!fits) return std::nullopt;
    std::string kept = name.substr(star, name.size() - before.size() - after.size());
    size_t place = ours.find('*');
    return ours.substr(0, place) + kept + ours.substr(place + 1);
  }
  if (name == theirs) return ours;
  if (theirs.ends_with('.') && name.starts_with(theirs)) return ours + name.substr(theirs.size());
  return std::nullopt;
}

// The names of a file's tensors after init.map has renamed them.
class FileNames {
 public:
  // map: "theirs:ours". `theirs` is a whole name, a prefix that ends with a dot, or has one '*',
  // whose text takes the place of the '*' of `ours`. The first that fits a name renames it. Throws
  // Error(config) for an entry without a colon or that fits no name, and for two tensors of one
  // name.
  FileNames(const WeightFile& file, const std::vector<std::string>& map);

  std::optional<size_t> find(const std::string& name) const;
  const std::string& name_of(size_t tensor) const { return names_.at(tensor); }
  const std::map<std::string, size_t>& all() const { return tensors_; }  // name -> tensor

 private:
  std::map<std::string, size_t> tensors_;
  std::vector<std::string> names_;  // of each tensor
};

FileNames::FileNames(const WeightFile& file, const std::vector<std::string>& map) {
  std::vector<Renaming> entries;
  for (const std::string& entry : map) entries.push_back(parse(entry));
  std::vector<bool> used(map.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    std::string name = file.tensors()[i].name;
    names.push_back(name);
    for (size_t entry = 0; entry < map.size(); ++entry) {
      auto other = renamed(entries[entry], name);
      if (!other) continue;
      used[entry] = true;
      name = *other;
      break;
    }
    if (!tensors_.emplace(name, i).second)
      fail(Category::config, "init.map: two tensors of {} would be named '{}'",
           file.path().string(), printable(name));
    names_.push_back(std::move(name));
  }
  for (size_t entry = 0; entry < map.size(); ++entry) {
    if (used[entry]) continue;
    const std::string& theirs = entries[entry].theirs;
    fail(Category::config, "init.map: '{}' fits no tensor of {}, which has {}{}", printable(theirs),
         file.path().string(), quoted_list(names), did_you_mean(nearest(theirs, names)));
  }
}

std::optional<size_t> FileNames::find(const std::string& name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? std::nullopt : std::optional(found->second);
}

constexpr size_t most_shown = 8;  // tensors in a message

// What one table of names finds in a file.
struct Attempt {
  NameTable table;
  std::vector<FoundParameter> found;
  std::vector<NewParameter> fresh;
  std::set<size_t> used;     // tensors of the file, also those in another shape
  size_t by_own_name = 0;    // parameters that init.map calls by Spire's names
  std::string refusal = {};  // why an entry of init.map cannot hold; empty: all do
};

// Whether init.skip names the tensor as it is in the file or as init.map renames it.
bool skips(const InitConfig& init, const WeightFile& file, const FileNames& names, size_t tensor) {
  return first_match(init.skip, names.name_of(tensor)) ||
         first_match(init.skip, file.tensors()[tensor].name);
}

std::optional<size_t> find_part(const FileNames& file, const NameTable& table,
                                const std::string& name) {
  if (auto whole = file.find(name)) return whole;
  bool prefixed = !table.prefix.empty() && name.starts_with(table.prefix);
  return prefixed ? file.find(name.substr(table.prefix.size())) : std::nullopt;
}

class Attempts {
 public:
  Attempts(const WeightFile& file, const FileNames& names, const InitConfig& init)
      : file_(file), names_(names), init_(init) {}

  Attempt with(const NameTable& table) const {
    Attempt attempt{.table = table, .found = {}, .fresh = {}, .used = {}};
    for (const NamedParameter& parameter : table.parameters) add(parameter, attempt);
    return attempt;
  }

 private:
  const Shape& shape(size_t tensor) const { return file_.tensors()[tensor].shape; }

  void add(const NamedParameter& given, Attempt& attempt) const {
    NamedParameter parameter = given;
    std::vector<size_t> tensors = find_parts(parameter, attempt);
    NewParameter fresh{parameter.name, parameter.shape, "", {}, false};
    fresh.skipped =
        first_match(init_.skip, parameter.name).has_value() ||
        std::ranges::any_of(tensors, [&](size_t t) { return skips(init_, file_, names_, t); });
    bool complete = tensors.size() == parameter.parts.size(), fits = complete;
    for (size_t i = 0; complete && i < tensors.size(); ++i) {
      if (shape(tensors[i]) == parameter.parts[i].shape) continue;
      fits = false;
      fresh.tensor = file_.tensors()[tensors[i]].name;
      fresh.found = shape(tensors[i]);
    }
    attempt.used.insert(tensors.begin(), tensors.end());
    if (fits && !fresh.skipped) {
      attempt.found.push_back({std::move(parameter), std::move(tensors)});
    } else {
      attempt.fresh.push_back(std::move(fresh));
    }
  }

  // Under the table's names, or of a tensor that copies it; else under the parameter's own name, if
  // init.map gave it to a tensor, which is then laid out as the one of the table.
  std::vector<size_t> find_parts(const NamedParameter& parameter, Attempt& attempt) const {
    std::vector<size_t> tensors;
    for (const TensorPart& part : parameter.parts)
      if (auto tensor = find_or_copy(part.name, attempt.table)) tensors.push_back(*tensor);
    auto own = names_.find(parameter.name);
    bool renamed = own && names_.name_of(*own) != file_.tensors()[*own].name;
    if (!tensors.empty() || !renamed) return tensors;
    if (parameter.parts.size() > 1) {
      attempt.refusal = fmt::format(
          "init.map: '{}' cannot be '{}', which is joined from several tensors under {} names; "
          "rename it to one of theirs, '{}'",
          printable(file_.tensors()[*own].name), parameter.name, word_of(attempt.table.names),
          parameter.parts[0].name);
      return {};
    }
    ++attempt.by_own_name;
    return {*own};
  }

  std::optional<size_t> find_or_copy(const std::string& name, const NameTable& table) const {
    auto tensor = find_part(names_, table, name);
    for (const auto& [copy, original] : table.copies)
      if (!tensor && original == name) tensor = names_.find(copy);
    return tensor;
  }

  const WeightFile& file_;
  const FileNames& names_;
  const InitConfig& init_;
};

// Whether the two read the same elements from the same tensors.
bool same_layout(const Attempt& a, const Attempt& b) {
  auto equal_part = [](const TensorPart& x, const TensorPart& y) {
    return x.begin == y.begin && x.view == y.view && x.axes == y.axes;
  };
  auto by_name = [](const FoundParameter& x, const FoundParameter& y) {
    return x.parameter.name < y.parameter.name;
  };
  auto first = a.found, second = b.found;
  std::ranges::sort(first, by_name);
  std::ranges::sort(second, by_name);
  return std::ranges::equal(first, second, [&](const auto& x, const auto& y) {
    return x.parameter.name == y.parameter.name && x.tensors == y.tensors &&
           std::ranges::equal(x.parameter.parts, y.parameter.parts, equal_part);
  });
}

// Returns the attempt that finds most. Throws where two find as much but read it in other orders.
Attempt best_attempt(const WeightFile& file, const Attempts& attempts, const ModelConfig& model,
                     const Graph& graph) {
  std::optional<Attempt> best, equal;
  for (WeightNames names : {WeightNames::spire, WeightNames::pytorch, WeightNames::torchvision,
                            WeightNames::huggingface}) {
    std::optional<Attempt> next;
    try {
      next = attempts.with(name_table(names, model, graph));
    } catch (const Error& error) {
      if (error.category() != Category::config) throw;
      continue;  // the model has no counterpart under these names
    }
    auto rank = [](const Attempt& a) {
      return std::pair(a.found.size(), -static_cast<int64_t>(a.by_own_name));
    };
    if (!best || rank(*next) > rank(*best)) {
      best = std::move(next);
      equal.reset();
    } else if (rank(*next) == rank(*best) && !same_layout(*next, *best)) {
      equal = std::move(next);
    }
  }
  if (equal && !best->found.empty())
    fail(Category::checkpoint,
         "{}: its names are {}'s as well as {}'s, which have pixels in another order; say by "
         "init.names which they are",
         file.path().string(), word_of(best->table.names), word_of(equal->table.names));
  return std::move(*best);
}

Attempt attempt_for(const WeightFile& file, const FileNames& names, const InitConfig& init,
                    const ModelConfig& model, const Graph& graph) {
  Attempts attempts(file, names, init);
  if (file.is_checkpoint() && init.names == WeightNames::automatic)
    return attempts.with(name_table(WeightNames::spire, model, graph));
  if (init.names != WeightNames::automatic)
    return attempts.with(name_table(init.names, model, graph));
  if (auto written = written_names(file.metadata()))
    return attempts.with(name_table(*written, model, graph));
  return best_attempt(file, attempts, model, graph);
}

// A head that shares the table of tokens in the model, but not in the file, would be lost.
void check_copies(const WeightFile& file, const FileNames& names, const InitConfig& init,
                  Attempt& attempt) {
  auto taken = [&](size_t tensor) {
    return std::ranges::any_of(attempt.found, [&](const FoundParameter& found) {
      return std::ranges::find(found.tensors, tensor) != found.tensors.end();
    });
  };
  for (const auto& [copy, original] : attempt.table.copies) {
    auto a = names.find(copy), b = find_part(names, attempt.table, original);
    if (!a) continue;
    attempt.used.insert(*a);
    if (!b || !taken(*b) || skips(init, file, names, *a)) continue;
    bool equal = file.tensors()[*a].shape == file.tensors()[*b].shape;
    std::vector<float> x(size_t{1} << 16), y(x.size());
    int64_t count = file.tensors()[*a].shape.elements();
    for (int64_t at = 0; equal && at < count; at += std::ssize(x)) {
      auto part = static_cast<size_t>(std::min<int64_t>(std::ssize(x), count - at));
      file.read(*a, at, std::span(x).first(part));
      file.read(*b, at, std::span(y).first(part));
      equal = std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(part), y.begin());
    }
    if (!equal)
      fail(Category::checkpoint,
           "{}: '{}' is not equal to '{}', but this model has one weight for both; take weights of "
           "a model that ties them",
           file.path().string(), copy, original);
  }
}

// A name as an entry of a YAML list of patterns: quoted where YAML or a pattern would take it for
// something else.
std::string as_pattern(const std::string& name) {
  auto plain = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_'; };
  if (!name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
      std::ranges::all_of(name, plain))
    return name;
  std::string text;
  for (char c : name) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) text += '\\';
    text += c;
    if (c == '\'') text += c;
  }
  return fmt::format("'{}'", printable(text));
}

std::string names_of(const std::vector<NewParameter>& parameters) {
  std::vector<std::string> names;
  for (const NewParameter& parameter : parameters) names.push_back(parameter.name);
  return quoted_list(names);
}

std::string describe(const NewParameter& parameter) {
  std::string text = fmt::format("{} {}", parameter.name, to_string(parameter.shape));
  if (parameter.found)
    text += fmt::format(" where the file has {} {}", printable(parameter.tensor),
                        to_string(*parameter.found));
  return text;
}

std::string list_of(const std::vector<NewParameter>& parameters, const char* between) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < parameters.size() && i < most_shown; ++i)
    lines.push_back(describe(parameters[i]));
  if (parameters.size() > most_shown)
    lines.push_back(fmt::format("and {} more", parameters.size() - most_shown));
  return fmt::format("{}", fmt::join(lines, between));
}

[[noreturn]] void fail_without_any(const WeightFile& file, const FileNames& names,
                                   const Attempt& attempt) {
  std::vector<NewParameter> other_shapes;
  for (const NewParameter& parameter : attempt.fresh)
    if (parameter.found && !parameter.skipped) other_shapes.push_back(parameter);
  std::string path = file.path().string();
  if (!other_shapes.empty())
    fail(Category::checkpoint,
         "{}: none of its tensors fits the model, by {} names; of another shape: {}; set the model "
         "as that of the file",
         path, word_of(attempt.table.names), list_of(other_shapes, "; "));
  std::vector<std::string> theirs;
  for (const auto& [name, tensor] : names.all()) theirs.push_back(name);
  fail(Category::checkpoint,
       "{}: none of its tensors fits the model under {} names: it has {}; the model has {}; see "
       "init.names and init.map",
       path, word_of(attempt.table.names), quoted_list(theirs), names_of(attempt.fresh));
}

}  // namespace

WeightMatch::WeightMatch(const WeightFile& file, const InitConfig& init, const ModelConfig& model,
                         const Graph& graph)
    : file_(file) {
  FileNames names(file, init.map);
  Attempt attempt = attempt_for(file, names, init, model, graph);
  std::vector<std::string> all;  // that init.skip may name
  for (const NamedParameter& parameter : attempt.table.parameters) all.push_back(parameter.name);
  for (const auto& [name, tensor] : names.all())
    if (std::ranges::count(all, name) == 0) all.push_back(name);
  std::vector<std::string> skippable = all;
  for (size_t i = 0; i < file.tensors().size(); ++i)
    if (file.tensors()[i].name != names.name_of(i)) skippable.push_back(file.tensors()[i].name);
  require_matches("init.skip", init.skip, skippable);
  if (!attempt.refusal.empty()) fail(Category::config, "{}", attempt.refusal);
  if (attempt.found.empty()) fail_without_any(file, names, attempt);
  check_copies(file, names, init, attempt);
  for (const auto& [name, tensor] : names.all()) {
    bool of_use =
        !first_match(attempt.table.without_use, name) && !skips(init, file, names, tensor);
    if (of_use && !attempt.used.contains(tensor)) left_over_.push_back(name);
  }
  names_ = attempt.table.names;
  found_ = std::move(attempt.found);
  fresh_ = std::move(attempt.fresh);
  check_computation(graph);
  if (init.strict) require_all();
}

void WeightMatch::check_computation(const Graph& graph) {
  std::string path = file_.path().string();
  bool known = check_metadata(file_.metadata(), path, graph);
  if (auto config = file_.config_path(); config && names_ == WeightNames::huggingface) {
    check_foreign_config(read_stream(*config, Category::checkpoint), config->string(), graph);
    known = true;
  }
  unchecked_ = !known && !file_.is_checkpoint() && transformer_facts(graph).blocks > 0;
}

void WeightMatch::require_all() const {
  std::vector<NewParameter> missing, other;
  for (const NewParameter& parameter : fresh_)
    if (!parameter.skipped) (parameter.found ? other : missing).push_back(parameter);
  if (missing.empty() && other.empty() && left_over_.empty()) return;
  std::vector<std::string> parts;
  if (!missing.empty()) parts.push_back("not in the file: " + list_of(missing, ", "));
  if (!other.empty()) parts.push_back("of another shape: " + list_of(other, ", "));
  if (!left_over_.empty()) parts.push_back("not in the model: " + quoted_list(left_over_));
  std::vector<std::string> skips = left_over_;
  for (const auto* list : {&other, &missing})
    for (const NewParameter& parameter : *list) skips.insert(skips.begin(), parameter.name);
  for (std::string& name : skips) name = as_pattern(name);
  std::string advice =
      skips.size() <= most_shown
          ? fmt::format(
                "init.skip: [{}] leaves these out of the file and starts them as in any "
                "new run; so does init.strict: false",
                fmt::join(skips, ", "))
          : "init.strict: false, or patterns in init.skip, leave these out of the file and start "
            "them as in any new run; init.map renames";
  // One line: of several the program prints the first one last, as if they were problems.
  fail(Category::checkpoint, "{} does not fit the model, by {} names; {}; {}",
       file_.path().string(), word_of(names_), fmt::join(parts, "; "), advice);
}

bool WeightMatch::read(const std::string& parameter, std::span<float> values) const {
  auto found = std::ranges::find(found_, parameter,
                                 [](const FoundParameter& f) { return f.parameter.name; });
  if (found == found_.end()) return false;
  for (size_t i = 0; i < found->tensors.size(); ++i) {
    const TensorPart& part = found->parameter.parts[i];
    auto target =
        values.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.elements()));
    if (part.axes.empty()) {
      file_.read(found->tensors[i], 0, target);
    } else {
      std::vector<float> theirs(target.size());
      file_.read(found->tensors[i], 0, theirs);
      to_parameter(part, theirs, target);
    }
  }
  return true;
}

std::string WeightMatch::text() const {
  size_t tensors = 0;
  for (const FoundParameter& found : found_) tensors += found.tensors.size();
  std::string text =
      fmt::format("{} of {} ({} names)", counted(static_cast<int64_t>(tensors), "tensor"),
                  file_.path().string(), word_of(names_));
  if (!fresh_.empty()) text += "; new: " + list_of(fresh_, ", ");
  if (!left_over_.empty()) text += "; left out: " + quoted_list(left_over_);
  if (unchecked_) text += "; nothing says heads and epsilon, so they are not checked";
  return text;
}

}  // namespace spire
