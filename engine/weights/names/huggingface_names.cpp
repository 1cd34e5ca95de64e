// Hugging Face's GPT2LMHeadModel, ViTForImageClassification and LlamaForCausalLM (transformers).
#include "engine/base/fail.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

// A layer of Spire's and theirs, by prefixes of names.
struct LayerPair {
  std::string ours, theirs;
};

class Table {
 public:
  Table(const Graph& graph, std::string prefix)
      : graph_(graph), table_{.names = WeightNames::huggingface, .parameters = {}} {
    table_.prefix = std::move(prefix);
  }

  NameTable& table() { return table_; }

  // A tensor that is as Spire's, or has another shape with the same elements.
  void same(const std::string& ours, const std::string& theirs, std::optional<Shape> shape = {}) {
    const Shape& own = shape_of(ours);
    add(ours, {{.name = theirs, .shape = shape.value_or(own)}});
  }
  // A norm or a dense layer.
  void layer(const LayerPair& pair) {
    for (const char* word : {"weight", "gamma", "bias", "beta"})
      if (find(fmt::format("{}.{}", pair.ours, word)))
        same(fmt::format("{}.{}", pair.ours, word),
             fmt::format("{}.{}", pair.theirs, state_dict_word(word)));
  }
  // A Conv1D, whose weight is (in, out).
  void conv1d(const LayerPair& pair) {
    const Shape& own = shape_of(pair.ours + ".weight");
    Shape theirs = {own[1], own[0]};
    add(pair.ours + ".weight",
        {{.name = pair.theirs + ".weight", .shape = theirs, .view = theirs, .axes = {1, 0}}});
    same(pair.ours + ".bias", pair.theirs + ".bias");
  }
  // Layers of their own, with so many shares of the outputs, that are one in Spire.
  struct Share {
    std::string theirs;
    int64_t outputs = 1;
  };
  void joined(const std::string& ours, const std::vector<Share>& shares) {
    int64_t all = 0;
    for (const Share& share : shares) all += share.outputs;
    for (const char* word : {"weight", "bias"}) {
      const Shape* own = find(fmt::format("{}.{}", ours, word));
      if (own == nullptr) continue;
      std::vector<TensorPart> parts;
      int64_t begin = 0;
      for (const Share& share : shares) {
        Shape part = *own;
        part[0] = part[0] / all * share.outputs;
        parts.push_back(
            {.name = fmt::format("{}.{}", share.theirs, word), .shape = part, .begin = begin});
        begin += part.elements();
      }
      add(fmt::format("{}.{}", ours, word), std::move(parts));
    }
  }
  const Shape& shape_of(const std::string& name) const {
    const Shape* shape = find(name);
    require(shape != nullptr, "the model has no {}", name);
    return *shape;
  }

 private:
  const Shape* find(const std::string& name) const {
    for (Value value : graph_.values_of(Role::parameter))
      if (graph_.tensor(value).name == name) return &graph_.spec(value).shape;
    return nullptr;
  }
  void add(const std::string& ours, std::vector<TensorPart> parts) {
    table_.parameters.push_back({ours, shape_of(ours), std::move(parts)});
  }

  const Graph& graph_;
  NameTable table_;
};

// Queries, keys and values lie side by side in c_attn, as in Spire's qkv.
NameTable gpt2_names(const Graph& graph) {
  Table table(graph, "transformer.");
  table.same("tokens.weight", "transformer.wte.weight");
  table.same("positions.weight", "transformer.wpe.weight");
  for (int64_t i = 1; i <= transformer_facts(graph).blocks; ++i) {
    std::string ours = fmt::format("block{}.", i), theirs = fmt::format("transformer.h.{}.", i - 1);
    table.layer({ours + "norm1", theirs + "ln_1"});
    table.conv1d({ours + "attention.qkv", theirs + "attn.c_attn"});
    table.conv1d({ours + "attention.project", theirs + "attn.c_proj"});
    table.layer({ours + "norm2", theirs + "ln_2"});
    table.conv1d({ours + "mlp.up", theirs + "mlp.c_fc"});
    table.conv1d({ours + "mlp.down", theirs + "mlp.c_proj"});
  }
  table.layer({"norm", "transformer.ln_f"});
  table.table().without_use = {"*.attn.bias", "*.attn.masked_bias"};
  table.table().copies = {{"lm_head.weight", "transformer.wte.weight"}};
  return std::move(table.table());
}

NameTable huggingface_vit_names(const Graph& graph) {
  Table table(graph, "vit.");
  const Shape &token = table.shape_of("class_token.weight"),
              &positions = table.shape_of("positions.weight");
  table.same("class_token.weight", "vit.embeddings.cls_token", Shape{1, token[0], token[1]});
  table.same("positions.weight", "vit.embeddings.position_embeddings",
             Shape{1, positions[0], positions[1]});
  table.layer({"patches", "vit.embeddings.patch_embeddings.projection"});
  for (int64_t i = 1; i <= transformer_facts(graph).blocks; ++i) {
    std::string ours = fmt::format("block{}.", i);
    std::string theirs = fmt::format("vit.encoder.layer.{}.", i - 1);
    std::string attention = theirs + "attention.attention.";
    table.layer({ours + "norm1", theirs + "layernorm_before"});
    table.joined(ours + "attention.qkv",
                 {{attention + "query"}, {attention + "key"}, {attention + "value"}});
    table.layer({ours + "attention.project", theirs + "attention.output.dense"});
    table.layer({ours + "norm2", theirs + "layernorm_after"});
    table.layer({ours + "mlp.up", theirs + "intermediate.dense"});
    table.layer({ours + "mlp.down", theirs + "output.dense"});
  }
  table.layer({"norm", "vit.layernorm"});
  table.layer({"head", "classifier"});
  // The pooler is not on the way to the classifier; the mask's token is for another task.
  table.table().without_use = {"vit.pooler.*", "pooler.*", "*embeddings.mask_token"};
  return std::move(table.table());
}

// Halves of a head turn by rotary positions in Spire as in these files, so no rows change places.
NameTable llama_names(const ModelConfig& model, const Graph& graph) {
  Table table(graph, "model.");
  TransformerFacts facts = transformer_facts(graph);
  table.same("tokens.weight", "model.embed_tokens.weight");
  for (int64_t i = 1; i <= facts.blocks; ++i) {
    std::string ours = fmt::format("block{}.", i), theirs = fmt::format("model.layers.{}.", i - 1);
    std::string attention = theirs + "self_attn.", mlp = theirs + "mlp.";
    table.layer({ours + "norm1", theirs + "input_layernorm"});
    table.joined(ours + "attention.qkv", {{attention + "q_proj", facts.heads},
                                          {attention + "k_proj", facts.kv_heads},
                                          {attention + "v_proj", facts.kv_heads}});
    table.layer({ours + "attention.project", attention + "o_proj"});
    table.layer({ours + "norm2", theirs + "post_attention_layernorm"});
    table.joined(ours + "mlp.gate_up", {{mlp + "gate_proj"}, {mlp + "up_proj"}});
    table.layer({ours + "mlp.down", mlp + "down_proj"});
  }
  table.layer({"norm", "model.norm"});
  table.layer({"head", "lm_head"});
  table.table().without_use = {"*.rotary_emb.inv_freq"};
  if (model.tied_head) table.table().copies = {{"lm_head.weight", "model.embed_tokens.weight"}};
  return std::move(table.table());
}

}  // namespace

NameTable huggingface_names(const ModelConfig& model, const Graph& graph) {
  if (model.name == "gpt") return gpt2_names(graph);
  if (model.name == "vit") return huggingface_vit_names(graph);
  if (model.name == "llama") return llama_names(model, graph);
  fail(Category::config,
       "Hugging Face has no model like model.name: {} here, only gpt (GPT-2), llama and vit; use "
       "names: "
       "pytorch or spire",
       model.name);
}

}  // namespace spire
