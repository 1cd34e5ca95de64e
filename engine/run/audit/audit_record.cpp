#include "engine/run/audit/audit_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/hash.h"

namespace spire {
namespace {

constexpr size_t hash_digits = 16;

// All NaNs are one word: their bits have no meaning.
void append_number(double value, std::string& text) {
  if (std::isnan(value)) {
    text += "\"nan\"";
  } else if (std::isinf(value)) {
    text += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

bool read_number(const nlohmann::json& json, double& value) {
  using Limits = std::numeric_limits<double>;
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == "nan") {
    value = Limits::quiet_NaN();
  } else if (json == "inf" || json == "-inf") {
    value = json == "inf" ? Limits::infinity() : -Limits::infinity();
  } else {
    return false;
  }
  return true;
}

bool read_field(const nlohmann::json& json, const char* key, double& value) {
  auto found = json.find(key);
  return found != json.end() && read_number(*found, value);
}

bool read_hashes(const nlohmann::json& json, const char* key, std::vector<uint64_t>& hashes) {
  auto found = json.find(key);
  if (found == json.end()) return true;
  if (!found->is_string()) return false;
  auto read = parse_hashes(found->get_ref<const std::string&>());
  if (read) hashes = std::move(*read);
  return read.has_value();
}

bool read_towers(const nlohmann::json& json, std::vector<double>& towers) {
  auto found = json.find("towers");
  if (found == json.end() || !found->is_array()) return false;
  for (const nlohmann::json& tower : *found)
    if (!read_number(tower, towers.emplace_back())) return false;
  return true;
}

bool is_member(const std::string& key) {
  constexpr auto known = std::to_array<std::string_view>(
      {"step", "samples", "lr", "loss", "grad_norm", "towers", "left_out", "weights"});
  return std::ranges::find(known, key) != known.end();
}

constexpr std::string_view chain_key = ",\"chain\":\"", chain_end = "\"}";

bool is_digest(std::string_view text) {
  return text.size() == digest_digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

void set_step(AuditRecord& record, const StepOutcome& step, uint64_t samples, bool left_out) {
  record.step = step.step;
  record.samples = samples;
  record.lr = step.lr;
  record.loss = step.loss;
  record.grad_norm = step.grad_norm;
  record.left_out = left_out;
  record.towers.assign(step.tower_losses.begin(), step.tower_losses.end());
}

AuditRecord audit_record(const StepOutcome& step, uint64_t samples, bool left_out,
                         std::vector<uint64_t> weights) {
  AuditRecord record{.weights = std::move(weights)};
  set_step(record, step, samples, left_out);
  return record;
}

uint64_t samples_hash(const BatchLoader& data, const Batch& batch) {
  uint64_t hash = 0;
  for (int64_t row = 0; row < batch.valid; ++row) {
    int64_t sample = data.sample_of(batch, row);
    hash = hash64(&sample, sizeof sample, hash);
  }
  return hash;
}

void append_text(const AuditRecord& record, std::string& text) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{{\"step\":{},\"samples\":\"{:016x}\",\"lr\":", record.step, record.samples);
  append_number(record.lr, text);
  text += ",\"loss\":";
  append_number(record.loss, text);
  text += ",\"grad_norm\":";
  append_number(record.grad_norm, text);
  text += ",\"towers\":[";
  for (size_t t = 0; t < record.towers.size(); ++t) {
    if (t > 0) text += ',';
    append_number(record.towers[t], text);
  }
  text += ']';
  if (record.left_out) text += ",\"left_out\":true";
  if (!record.weights.empty())
    fmt::format_to(out, ",\"weights\":\"{}\"", hashes_text(record.weights));
  text += '}';
}

std::optional<AuditRecord> parse_audit_record(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  for (const auto& [key, value] : json.items())
    if (!is_member(key)) return {};
  auto step = json.find("step"), left_out = json.find("left_out");
  std::vector<uint64_t> samples;
  AuditRecord record;
  bool good = step != json.end() && step->is_number_integer() &&
              read_hashes(json, "samples", samples) && samples.size() == 1 &&
              read_field(json, "lr", record.lr) && read_field(json, "loss", record.loss) &&
              read_field(json, "grad_norm", record.grad_norm) && read_towers(json, record.towers) &&
              read_hashes(json, "weights", record.weights);
  if (!good) return {};
  record.step = step->get<int64_t>();
  record.samples = samples.front();
  record.left_out = left_out != json.end() && *left_out == true;
  return record;
}

std::string hashes_text(const std::vector<uint64_t>& hashes) {
  std::string text;
  for (uint64_t hash : hashes) text += hex(hash);
  return text;
}

std::optional<std::vector<uint64_t>> parse_hashes(std::string_view text) {
  if (text.size() % hash_digits != 0) return {};
  std::vector<uint64_t> hashes;
  for (size_t at = 0; at < text.size(); at += hash_digits) {
    const char *begin = text.data() + at, *end = begin + hash_digits;
    auto [stop, error] = std::from_chars(begin, end, hashes.emplace_back(), 16);
    if (error != std::errc() || stop != end) return {};
  }
  return hashes;
}

std::string ChainState::text() const {
  return value.empty() ? "" : value + " " + root;
}

std::optional<ChainState> ChainState::parse(const std::string& text) {
  if (text.size() != 2 * digest_digits + 1 || text[digest_digits] != ' ') return {};
  ChainState state{text.substr(0, digest_digits), text.substr(digest_digits + 1)};
  if (!is_digest(state.value) || !is_digest(state.root)) return {};
  return state;
}

void chain_line(std::string& line, std::string& value) {
  value = next_value(value, line);
  line.pop_back();  // the closing brace
  line.append(chain_key).append(value).append(chain_end).push_back('\n');
}

std::optional<ChainedLine> split_chained(std::string_view line) {
  size_t tail = chain_key.size() + digest_digits + chain_end.size();
  if (line.size() < tail) return {};
  std::string_view text = line.substr(0, line.size() - tail), rest = line.substr(text.size());
  std::string_view value = rest.substr(chain_key.size(), digest_digits);
  if (!rest.starts_with(chain_key) || !rest.ends_with(chain_end) || !is_digest(value)) return {};
  return ChainedLine{std::string(text) + "}", std::string(value)};
}

}  // namespace spire
