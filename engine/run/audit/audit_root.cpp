#include "engine/run/audit/audit_root.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/digest.h"
#include "engine/base/hash.h"
#include "engine/data/sample.h"
#include "engine/run/audit/bit_keys.h"
#include "engine/run/audit/data_digest.h"
#include "kernels/cpu/onednn_version.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

bool on_cpus(const RunSetup& setup) {
  return setup.placement.devices[0].id.kind == DeviceKind::cpu;
}

Json config_of(const RunSetup& setup) {
  BitKeys keys(setup.config, bit_context(setup));
  Json json = Json::object();
  for (const Field& field : schema()) {
    if (!keys.decide(field)) continue;
    if (field.path == "tower_threads" && !on_cpus(setup)) continue;
    json[field.path] = keys.value(field);
  }
  return json;
}

Json versions_of(const RunSetup& setup) {
  Json versions = {{"Spire", SPIRE_BUILD}};
  if (on_cpus(setup)) versions["oneDNN"] = onednn_version();
  for (const auto& [library, version] : setup.versions) versions[library] = version;
  return versions;
}

void compare(const std::string& path, const Json& a, const Json& b,
             std::vector<std::string>& differences) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) {
    differences.push_back(fmt::format("{}: {} and {}", path, a.dump(), b.dump()));
    return;
  }
  std::set<std::string> keys;
  for (const Json* side : {&a, &b})
    for (const auto& [key, value] : side->items()) keys.insert(key);
  for (const std::string& key : keys)
    compare(path.empty() ? key : path + " " + key, a.value(key, Json()), b.value(key, Json()),
            differences);
}

}  // namespace

int64_t weights_interval(const AuditConfig& config, int64_t parameters) {
  constexpr int64_t parameters_a_step = 10'000, least = 500, most = 1000;
  if (config.weights_every_steps > 0) return config.weights_every_steps;
  return std::clamp(parameters / parameters_a_step, least, most);
}

std::string root_text(const RunSetup& setup, int64_t weights_every) {
  std::string tuning = recorded_text(setup.tuning.get());
  Json root = {{"device", on_cpus(setup) ? "cpu" : "cuda"},
               {"data", data_digest(setup.data)},
               {"spec", digest({to_text(setup.data.test->spec())})},
               {"config", config_of(setup)},
               {"versions", versions_of(setup)},
               {"engines", hex(hash64(tuning.data(), tuning.size()))},
               {"weights_every_steps", weights_every}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RootCheck check_root(const std::string& recorded, const RunSetup& setup, int64_t weights_every) {
  Json here = Json::parse(root_text(setup, weights_every));
  Json there = Json::parse(recorded, nullptr, false);
  Json kept = Json::object();
  for (const auto& [key, value] : there["config"].items())
    if (here["config"].contains(key) || !find_field(key)) kept[key] = value;
  there["config"] = kept;
  if (!there.contains("spec")) here.erase("spec");  // of a version that did not record it
  RootCheck check;
  compare("", there, here, check.differences);
  check.other_run = std::ranges::any_of(check.differences, [](const std::string& text) {
    return text.starts_with("config ") || text.starts_with("data:") || text.starts_with("spec:");
  });
  return check;
}

}  // namespace spire
