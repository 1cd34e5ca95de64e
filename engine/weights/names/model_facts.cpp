// What a model computes that no tensor shows, and what files of weights say of it.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/weights/names/known_names.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire {
namespace {

using nlohmann::json;

constexpr const char* names_key = "spire.names";

// What a transformer computes that no tensor shows.
struct NamedFact {
  std::string key;    // of the metadata: "spire.heads"
  std::string field;  // of the config: "model.heads"
  std::string value;
  std::string without;  // the value that metadata without the key means; empty: none
};
std::vector<NamedFact> named_facts(const TransformerFacts& facts) {
  std::vector<NamedFact> named;
  auto add = [&](const std::string& name, auto value, const std::string& without = "") {
    named.push_back({"spire." + name, "model." + name, fmt::format("{}", value), without});
  };
  if (facts.blocks == 0) return named;
  add("heads", facts.heads);
  add("kv_heads", facts.kv_heads, fmt::format("{}", facts.heads));
  add("epsilon", facts.epsilon);
  add("rope_theta", facts.rope_theta, "0");
  return named;
}

class ConfigCheck {
 public:
  ConfigCheck(const json& config, const std::string& path) : config_(config), path_(path) {}

  // by_default: transformers' value of a missing key.
  json value(const char* key, const json& by_default) const {
    auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? by_default : *found;
  }
  // remedy: what to do where the model has another value.
  void expect(const char* key, const json& by_default, const json& ours,
              std::string_view remedy) const {
    json theirs = value(key, by_default);
    bool equal = theirs.is_number() && ours.is_number() ? theirs.get<float>() == ours.get<float>()
                                                        : theirs == ours;
    if (equal) return;
    auto found = config_.find(key);
    bool missing = found == config_.end() || found->is_null();
    std::string text = fmt::format("{}{}", missing ? "missing, so transformers' default " : "",
                                   printable(theirs.dump()));
    fail(Category::checkpoint, "{}: {} is {}, but this model computes with {}; {}", path_, key,
         text, ours.dump(), remedy);
  }
  // First of all: the keys of another kind of model would be missing, and say nothing.
  void expect_type(std::string_view ours) const {
    json type = value("model_type", json(ours));
    if (type != json(ours))
      fail(
          Category::checkpoint,
          "{}: model_type is {}, but weights of a \"{}\" are needed for this model; take those, or "
          "move this file away if it is not of these weights",
          path_, printable(type.dump()), ours);
  }
  [[noreturn]] void refuse(const char* key, const json& theirs, const std::string& ours,
                           std::string_view remedy) const {
    fail(Category::checkpoint, "{}: {} is {}, but this model computes with {}; {}", path_, key,
         printable(theirs.dump()), ours, remedy);
  }

  const std::string& path() const { return path_; }

 private:
  const json& config_;
  const std::string& path_;
};

constexpr const char* no_key = "Spire has no such model; take other weights";

// A float as a decimal that reads back as it: 1e-05, not 9.99999974e-06.
double decimal(float value) {
  return std::stod(fmt::format("{}", value));
}

void check_gpt2(const ConfigCheck& check, const TransformerFacts& facts) {
  check.expect_type("gpt2");
  check.expect("n_head", 12, facts.heads, "set model.heads to that");
  check.expect("layer_norm_epsilon", 1e-5, decimal(facts.epsilon), "set model.epsilon to that");
  json activation = check.value("activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    check.refuse("activation_function", activation, "\"gelu_new\"", no_key);
  check.expect("scale_attn_weights", true, true, no_key);
  check.expect("scale_attn_by_inverse_layer_idx", false, false, no_key);
  check.expect("add_cross_attention", false, false, no_key);
  check.expect("tie_word_embeddings", true, true, no_key);
}

void check_vit(const ConfigCheck& check, const TransformerFacts& facts) {
  check.expect_type("vit");
  check.expect("num_attention_heads", 12, facts.heads, "set model.heads to that");
  check.expect("layer_norm_eps", 1e-12, decimal(facts.epsilon), "set model.epsilon to that");
  check.expect("hidden_act", "gelu", "gelu", no_key);
}

// The base of rotary positions, which newer files have in a map, and that they are not stretched.
void check_rope(const ConfigCheck& check, const TransformerFacts& facts) {
  json scaling = check.value("rope_scaling", json::object());
  json rope = check.value("rope_parameters", json::object());
  for (const json& map : {scaling, rope}) {
    json kind = map.is_object() ? map.value("rope_type", map.value("type", json("default"))) : map;
    if (kind != "default") check.refuse("rope_type", kind, "\"default\"", no_key);
  }
  if (!rope.contains("rope_theta"))
    return check.expect("rope_theta", 10000.0, facts.rope_theta, "set model.rope_theta to that");
  ConfigCheck(rope, check.path())
      .expect("rope_theta", 10000.0, facts.rope_theta, "set model.rope_theta to that");
}

void check_llama(const ConfigCheck& check, const TransformerFacts& facts) {
  check.expect_type("llama");
  check.expect("num_attention_heads", 32, facts.heads, "set model.heads to that");
  check.expect("num_key_value_heads", check.value("num_attention_heads", 32), facts.kv_heads,
               "set model.kv_heads to that");
  check.expect("rms_norm_eps", 1e-6, decimal(facts.epsilon), "set model.epsilon to that");
  check.expect("hidden_act", "silu", "silu", no_key);
  check.expect("attention_bias", false, false, no_key);
  check.expect("mlp_bias", false, false, no_key);
  check_rope(check, facts);
}

const Shape& shape_of(const NameTable& table, std::string_view name) {
  auto found = std::ranges::find(table.parameters, name, &NamedParameter::name);
  require(found != table.parameters.end(), "the model has no {}", name);
  return found->shape;
}

std::string gpt2_config(const NameTable& table, const ModelConfig& model,
                        const TransformerFacts& facts, std::optional<int64_t> end_token) {
  // Without these keys transformers takes GPT-2's 50256, which other vocabularies do not have.
  nlohmann::ordered_json end;
  if (end_token) end = *end_token;
  const Shape &tokens = shape_of(table, "tokens.weight"),
              &up = shape_of(table, "block1.mlp.up.weight");
  nlohmann::ordered_json config = {{"architectures", {"GPT2LMHeadModel"}},
                                   {"model_type", "gpt2"},
                                   {"vocab_size", tokens[0]},
                                   {"n_positions", shape_of(table, "positions.weight")[0]},
                                   {"n_embd", tokens[1]},
                                   {"n_layer", facts.blocks},
                                   {"n_head", facts.heads},
                                   {"n_inner", up[0]},
                                   {"activation_function", "gelu_new"},
                                   {"layer_norm_epsilon", decimal(facts.epsilon)},
                                   {"resid_pdrop", model.dropout},
                                   {"embd_pdrop", model.dropout},
                                   {"attn_pdrop", model.dropout},
                                   {"tie_word_embeddings", true},
                                   {"bos_token_id", end},
                                   {"eos_token_id", end},
                                   {"dtype", "float32"}};
  return config.dump(2) + "\n";
}

std::string llama_config(const NameTable& table, const ModelConfig& model, const Graph& graph,
                         const TransformerFacts& facts, std::optional<int64_t> end_token) {
  nlohmann::ordered_json end;  // null: transformers' own default is a token that others mean
  if (end_token) end = *end_token;
  const Shape &tokens = shape_of(table, "tokens.weight"),
              &down = shape_of(table, "block1.mlp.down.weight");
  int64_t length = graph.spec(graph.values_of(Role::input).front()).shape[1];
  nlohmann::ordered_json rope = {{"rope_type", "default"}, {"rope_theta", facts.rope_theta}};
  nlohmann::ordered_json config = {{"architectures", {"LlamaForCausalLM"}},
                                   {"model_type", "llama"},
                                   {"vocab_size", tokens[0]},
                                   {"hidden_size", tokens[1]},
                                   {"intermediate_size", down[1]},
                                   {"num_hidden_layers", facts.blocks},
                                   {"num_attention_heads", facts.heads},
                                   {"num_key_value_heads", facts.kv_heads},
                                   {"head_dim", tokens[1] / facts.heads},
                                   {"hidden_act", "silu"},
                                   {"max_position_embeddings", model.context.value_or(length)},
                                   {"rms_norm_eps", decimal(facts.epsilon)},
                                   {"rope_theta", facts.rope_theta},
                                   {"rope_parameters", rope},
                                   {"attention_bias", false},
                                   {"mlp_bias", false},
                                   {"attention_dropout", model.dropout},
                                   {"tie_word_embeddings", model.tied_head},
                                   {"bos_token_id", end},
                                   {"eos_token_id", end},
                                   {"dtype", "float32"}};
  return config.dump(2) + "\n";
}

std::string vit_config(const NameTable& table, const ModelConfig& model, const Graph& graph,
                       const TransformerFacts& facts) {
  const Shape& image = graph.spec(graph.values_of(Role::input).front()).shape;  // (N, H, W, C)
  const Shape& up = shape_of(table, "block1.mlp.up.weight");
  nlohmann::ordered_json labels = nlohmann::ordered_json::object(), ids = labels;
  for (int64_t i = 0; i < shape_of(table, "head.weight")[0]; ++i) {
    labels[fmt::format("{}", i)] = fmt::format("LABEL_{}", i);
    ids[fmt::format("LABEL_{}", i)] = i;
  }
  nlohmann::ordered_json config = {{"architectures", {"ViTForImageClassification"}},
                                   {"model_type", "vit"},
                                   {"image_size", {image[1], image[2]}},
                                   {"patch_size", model.patch},
                                   {"num_channels", image[3]},
                                   {"hidden_size", up[1]},
                                   {"num_hidden_layers", facts.blocks},
                                   {"num_attention_heads", facts.heads},
                                   {"intermediate_size", up[0]},
                                   {"hidden_act", "gelu"},
                                   {"layer_norm_eps", decimal(facts.epsilon)},
                                   {"qkv_bias", true},
                                   {"hidden_dropout_prob", model.dropout},
                                   {"attention_probs_dropout_prob", model.dropout},
                                   {"id2label", labels},
                                   {"label2id", ids},
                                   {"dtype", "float32"}};
  if (image[1] == image[2]) config["image_size"] = image[1];
  return config.dump(2) + "\n";
}

}  // namespace

TransformerFacts transformer_facts(const Graph& graph) {
  TransformerFacts facts;
  for (const Node& node : graph.nodes()) {
    if (const auto* attention = dynamic_cast<const AttentionOp*>(node.op.get())) {
      facts.heads = attention->attributes().heads;
      facts.kv_heads =
          packed_heads(attention->attributes(), graph.spec(node.inputs[0]).shape).kv_heads;
      ++facts.blocks;
    }
    if (const auto* norm = dynamic_cast<const LayerNormOp*>(node.op.get()))
      facts.epsilon = norm->attributes().epsilon;
    if (const auto* norm = dynamic_cast<const RmsNormOp*>(node.op.get()))
      facts.epsilon = norm->attributes().epsilon;
    if (const auto* rope = dynamic_cast<const RopeOp*>(node.op.get()))
      facts.rope_theta = rope->attributes().theta;
    facts.swiglu = facts.swiglu || node.op->name() == "swiglu";
    facts.gelu_tanh = facts.gelu_tanh || node.op->name() == "gelu_tanh";
  }
  return facts;
}

std::map<std::string, std::string> own_metadata(const NameTable& table, const Graph& graph) {
  std::map<std::string, std::string> metadata = {{names_key, std::string(word_of(table.names))}};
  for (const NamedFact& fact : named_facts(transformer_facts(graph)))
    if (fact.value != fact.without) metadata[fact.key] = fact.value;
  return metadata;
}

std::optional<WeightNames> written_names(const std::map<std::string, std::string>& metadata) {
  auto found = metadata.find(names_key);
  if (found == metadata.end()) return std::nullopt;
  auto names = find_word<WeightNames>(found->second);
  return names == WeightNames::automatic ? std::nullopt : names;
}

bool check_metadata(const std::map<std::string, std::string>& metadata, const std::string& path,
                    const Graph& graph) {
  std::vector<NamedFact> facts = named_facts(transformer_facts(graph));
  for (const NamedFact& fact : facts)
    if (fact.without.empty() && !metadata.contains(fact.key)) return false;
  // Heads are compared first, so that kv_heads that are left out are as many as theirs.
  for (const auto& [key, field, ours, without] : facts) {
    auto found = metadata.find(key);
    const std::string& theirs = found == metadata.end() ? without : found->second;
    if (theirs != ours)
      fail(Category::checkpoint, "{}: its model has {} {}, but this model computes with {}; set {}",
           path, field, printable(theirs), ours, field);
  }
  return !facts.empty();
}

std::vector<AttentionFact> other_attention(const Graph& first, const Graph& second) {
  std::vector<NamedFact> a = named_facts(transformer_facts(first));
  std::vector<NamedFact> b = named_facts(transformer_facts(second));
  std::vector<AttentionFact> facts;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].value != b[i].value) facts.push_back({a[i].field, a[i].value, b[i].value});
  return facts;
}

void check_foreign_config(const std::string& text, const std::string& path, const Graph& graph) {
  json config;
  try {
    config = json::parse(text);
  } catch (const json::exception& error) {
    fail(Category::checkpoint, "{}: it is not JSON: {}", path, printable(error.what()));
  }
  if (!config.is_object()) fail(Category::checkpoint, "{}: it is not a map of keys", path);
  ConfigCheck check(config, path);
  TransformerFacts facts = transformer_facts(graph);
  if (facts.swiglu) return check_llama(check, facts);
  facts.gelu_tanh ? check_gpt2(check, facts) : check_vit(check, facts);
}

std::string foreign_config(const NameTable& table, const ModelConfig& model, const Graph& graph,
                           std::optional<int64_t> end_token) {
  if (table.names != WeightNames::huggingface) return "";
  TransformerFacts facts = transformer_facts(graph);
  if (model.name == "gpt") return gpt2_config(table, model, facts, end_token);
  if (model.name == "llama") return llama_config(table, model, graph, facts, end_token);
  return vit_config(table, model, graph, facts);
}

}  // namespace spire
