#include <spire/base/error.h>
#include <spire/config/text.h>

#include <algorithm>
#include <array>
#include <functional>

namespace spire {

namespace {

// Characters that mean nothing to YAML, so that a word of them needs no quotes.
bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain = "_./-";
  auto harmless = [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  };
  constexpr std::array kNull = {"null", "Null", "NULL"};
  return !word.empty() && word.front() != '-' && std::ranges::count(kNull, word) == 0 &&
         std::ranges::all_of(word, harmless);
}

std::string yaml(const std::string& word) {
  return yaml_word(word);
}
std::string yaml(bool value) {
  return value ? "true" : "false";
}
std::string yaml(int64_t value) {
  return fmt::format("{}", value);
}
std::string yaml(uint64_t value) {
  return fmt::format("{}", value);
}
std::string yaml(double value) {
  return fmt::format("{}", value);
}  // shortest that reads back
std::string yaml(const std::optional<int64_t>& value) {
  return value ? yaml(*value) : "null";
}

template <typename T>
std::string yaml(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T& value : values) words.push_back(yaml(value));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// Device names are the words with a colon that YAML leaves alone.
std::string yaml(const std::vector<std::string>& words) {
  return words.size() == 1 ? words.front() : fmt::format("[{}]", fmt::join(words, ", "));
}

// One line a key, sections opened where they begin; `comment` is put behind each value.
std::string render(const RunConfig& config,
                   const std::function<std::string(const Field&)>& comment) {
  std::string text;
  std::string open;
  for (const Field& field : schema()) {
    std::string section(section_of(field.path));
    auto depth = static_cast<size_t>(std::ranges::count(field.path, '.'));
    if (section != open && !section.empty() && !open.starts_with(section + ".")) {
      text += fmt::format("{:{}}{}:\n", "", 2 * (depth - 1), leaf_of(section));
    }
    open = section;
    std::string line =
        fmt::format("{:{}}{}: {}", "", 2 * depth, leaf_of(field.path), value_text(field, config));
    std::string remark = comment(field);
    text += remark.empty() ? line + "\n" : fmt::format("{:<36} # {}\n", line, remark);
  }
  return text;
}

}  // namespace

std::string yaml_word(const std::string& word) {
  if (is_plain(word)) return word;
  std::string quoted = "\"";
  for (char c : word) {
    auto code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127) {
      quoted += fmt::format("\\x{:02x}", code);
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string value_text(const Field& field, const RunConfig& config) {
  // Without towers, batch_size still waits to be derived from global_batch: it was not given.
  if (field.path == "batch_size" && config.global_batch && !config.towers) return "null";
  RunConfig copy = config;
  return std::visit([](auto* value) { return yaml(*value); }, field.slot(copy));
}

std::string to_yaml(const RunConfig& config) {
  return render(config, [](const Field&) { return std::string(); });
}

std::string to_annotated_yaml(const ResolvedConfig& resolved) {
  return render(resolved.config, [&](const Field& field) {
    std::string source = resolved.source.at(field.path);
    bool open = value_text(field, resolved.config) == "null";
    return open ? fmt::format("{}: {}", source, field.unset) : source;
  });
}

}  // namespace spire
