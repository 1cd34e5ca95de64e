// Which weights of a file are found for a model, and what is said of the others.
#include "engine/weights/weight_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/known_names.h"
#include "tests/base/message_of.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const MadeModel net{{.name = "resnet", .depth = 8}, image_columns(8)};

class Matching : public testing::Test {
 protected:
  // The tensors of a file for `model`, under these names.
  std::shared_ptr<TensorsInMemory> made(const MadeModel& model, WeightNames names) const {
    return foreign_tensors(name_table(names, model.config, model.graph()));
  }
  std::string refusal(std::shared_ptr<TensorsInMemory> tensors, const InitConfig& init,
                      const MadeModel& model = net, Category category = Category::checkpoint) {
    WeightFile file("FILE", std::move(tensors));
    return message_of(category, [&] { WeightMatch(file, init, model.config, model.graph()); });
  }
  // Keeps the file, to which the match refers.
  WeightMatch match(std::shared_ptr<TensorsInMemory> tensors, const InitConfig& init,
                    const MadeModel& model = net) {
    file_ = std::make_unique<WeightFile>("FILE", std::move(tensors));
    return {*file_, init, model.config, model.graph()};
  }
  static NamedTensor& find(TensorsInMemory& tensors, const std::string& name) {
    return *std::ranges::find(tensors.tensors, name, &NamedTensor::name);
  }

 private:
  std::unique_ptr<WeightFile> file_;
};

TEST_F(Matching, AutoTellsNamesByWhatItFinds) {
  for (WeightNames names : {WeightNames::spire, WeightNames::pytorch, WeightNames::torchvision})
    EXPECT_EQ(match(made(net, names), {}).names(), names);
}

TEST_F(Matching, AutoDoesNotGuessTheOrderOfPixels) {
  MadeModel mlp{{.name = "mlp"}, image_columns(4)}, grey{{.name = "mlp"}, image_columns(4, 1)};
  EXPECT_THAT(refusal(made(mlp, WeightNames::pytorch), {}, mlp),
              HasSubstr("its names are spire's as well as pytorch's"));
  EXPECT_NO_THROW(match(made(mlp, WeightNames::pytorch), {.names = WeightNames::pytorch}, mlp));
  EXPECT_NO_THROW(match(made(grey, WeightNames::pytorch), {}, grey));  // the order is the same
}

TEST_F(Matching, StrictSaysWhatIsMissingLeftOverAndOfAnotherShape) {
  MadeModel five = net;
  five.classes = 4;
  auto tensors = made(five, WeightNames::torchvision);
  tensors->add("extra.weight", {3});
  std::erase_if(tensors->tensors, [](const NamedTensor& t) { return t.name == "bn1.bias"; });
  EXPECT_EQ(refusal(tensors, {}),
            "FILE does not fit the model, by torchvision names; not in the file: stem.norm.beta "
            "(16); of another shape: head.weight (5, 64) where the file has fc.weight (4, 64), "
            "head.bias (5) where the file has fc.bias (4); not in the model: 'extra.weight'; "
            "init.skip: [stem.norm.beta, head.bias, head.weight, extra.weight] leaves these out "
            "of the file and starts them as in any new run; so does init.strict: false");
  // What it says to type is accepted, and does what it says.
  WeightMatch skipped =
      match(tensors, {.skip = {"stem.norm.beta", "head.bias", "head.weight", "extra.weight"}});
  WeightMatch loose = match(tensors, {.strict = false});
  for (const WeightMatch* found : {&skipped, &loose}) {
    EXPECT_EQ(found->fresh().size(), 3u);
    std::vector<float> values(5);
    EXPECT_FALSE(found->read("head.bias", values));
  }
  EXPECT_TRUE(skipped.left_over().empty());
  EXPECT_THAT(loose.left_over(), ElementsAre("extra.weight"));
  EXPECT_THAT(loose.text(),
              AllOf(HasSubstr("tensors of FILE (torchvision names); new: "),
                    HasSubstr("head.weight (5, 64) where the file has fc.weight (4, 64)"),
                    HasSubstr("stem.norm.beta (16)"), HasSubstr("; left out: 'extra.weight'")));
}

TEST_F(Matching, SkippedWeightsStartAnewThoughTheyFit) {
  WeightMatch found = match(made(net, WeightNames::torchvision), {.skip = {"head.*"}});
  EXPECT_EQ(found.fresh().size(), 2u);
  EXPECT_TRUE(found.fresh()[0].skipped);
  EXPECT_THAT(
      refusal(made(net, WeightNames::torchvision), {.skip = {"haed.*"}}, net, Category::config),
      HasSubstr("init.skip: 'haed.*' matches none of"));
}

// By the file's name, though the table finds it under that name; and by the name after init.map.
TEST_F(Matching, SkippedTensorsAreNotRead) {
  for (const char* pattern : {"fc.*", "head.*"}) {
    WeightMatch found = match(made(net, WeightNames::torchvision), {.skip = {pattern}});
    EXPECT_EQ(found.fresh().size(), 2u) << pattern;
    std::vector<float> values(5);
    EXPECT_FALSE(found.read("head.bias", values)) << pattern;
  }
  auto tensors = made(net, WeightNames::torchvision);
  find(*tensors, "fc.bias").name = "linear.bias";
  for (const char* pattern : {"linear.bias", "fc.bias"}) {
    WeightMatch found = match(tensors, {.map = {"linear.:fc."}, .skip = {pattern}});
    ASSERT_EQ(found.fresh().size(), 1u) << pattern;
    EXPECT_TRUE(found.fresh()[0].skipped) << pattern;
  }
}

TEST_F(Matching, AdviceQuotesNamesThatAreNoPlainWords) {
  auto tensors = made(net, WeightNames::torchvision);
  tensors->add("odd [1]: *", {1});
  std::string advice = refusal(tensors, {});
  EXPECT_THAT(advice, HasSubstr("init.skip: ['odd \\[1]: \\*']"));
  EXPECT_NO_THROW(match(tensors, {.skip = {"odd \\[1]: \\*"}}));
}

TEST_F(Matching, CountersAreOfNoUse) {
  auto tensors = made(net, WeightNames::torchvision);
  tensors->add("bn1.num_batches_tracked", {});
  EXPECT_TRUE(match(tensors, {}).left_over().empty());
}

TEST_F(Matching, MapRenames) {
  auto tensors = made(net, WeightNames::torchvision);
  for (NamedTensor& tensor : tensors->tensors) {
    if (tensor.name.starts_with("fc.")) tensor.name = "linear" + tensor.name.substr(2);
    if (tensor.name.ends_with("downsample.0.weight"))
      tensor.name.replace(tensor.name.find("downsample.0"), 12, "shortcut.conv");
    tensor.name = "module." + tensor.name;
  }
  InitConfig init{.map = {"module.linear.weight:head.weight", "module.linear.bias:fc.bias",
                          "module.*.shortcut.conv.weight:*.downsample.0.weight", "module.:"}};
  WeightMatch found = match(tensors, init);
  EXPECT_TRUE(found.fresh().empty());
  EXPECT_TRUE(found.left_over().empty());
  std::vector<float> values(5 * 64);
  ASSERT_TRUE(found.read("head.weight", values));
  EXPECT_EQ(values, find(*tensors, "module.linear.weight").values);
  auto says = [&](const std::string& entry) {
    return refusal(tensors, {.map = {entry}}, net, Category::config);
  };
  EXPECT_THAT(says("modul.:"), HasSubstr("'modul.' fits no tensor of FILE"));
  EXPECT_THAT(says("module.*.*:x"), HasSubstr("one '*' on either side"));
  EXPECT_THAT(says("*:"), HasSubstr("one '*' on either side"));
  EXPECT_THAT(refusal(tensors, {.map = {"module.linear.weight:a", "module.linear.bias:a"}}, net,
                      Category::config),
              HasSubstr("two tensors of FILE would be named 'a'"));
}

TEST_F(Matching, NothingFits) {
  auto tensors = std::make_shared<TensorsInMemory>();
  tensors->add("a", {1});
  EXPECT_THAT(refusal(tensors, {.strict = false}),
              AllOf(HasSubstr("FILE: none of its tensors fits the model"), HasSubstr("it has 'a'"),
                    HasSubstr("stem.conv.weight")));
}

TEST_F(Matching, NamesThatTheModelDoesNotHave) {
  EXPECT_THAT(refusal(made(net, WeightNames::spire), {.names = WeightNames::huggingface}, net,
                      Category::config),
              HasSubstr("Hugging Face has no model like model.name: resnet"));
  MadeModel vit{{.name = "vit", .blocks = 1, .width = 8, .heads = 2, .patch = 4, .epsilon = 1e-5},
                image_columns(8)};
  EXPECT_THAT(refusal(made(vit, WeightNames::spire), {.names = WeightNames::torchvision}, vit,
                      Category::config),
              HasSubstr("have 1e-06 in their layer norms, but model.epsilon is 1e-05"));
}

const MadeModel gpt{{.name = "gpt", .blocks = 1, .width = 8, .heads = 2}, token_columns(6), 11};

// Files of the bare model lack the prefix, those of older versions have masks, and torch's own
// have the head beside the table that it shares.
TEST_F(Matching, FormsOfGpt2) {
  auto bare = made(gpt, WeightNames::huggingface);
  for (NamedTensor& tensor : bare->tensors)
    tensor.name = tensor.name.substr(std::string("transformer.").size());
  bare->add("h.0.attn.bias", {1, 1, 6, 6});
  WeightMatch found = match(bare, {}, gpt);
  EXPECT_EQ(found.names(), WeightNames::huggingface);
  EXPECT_TRUE(found.left_over().empty());
  EXPECT_THAT(found.text(), HasSubstr("nothing says heads and epsilon, so they are not checked"));

  auto tied = made(gpt, WeightNames::huggingface);
  tied->tensors.push_back(find(*tied, "transformer.wte.weight"));
  tied->tensors.back().name = "lm_head.weight";
  EXPECT_TRUE(match(tied, {}, gpt).left_over().empty());
  tied->tensors.back().values[3] += 1;
  EXPECT_THAT(refusal(tied, {}, gpt),
              HasSubstr("'lm_head.weight' is not equal to 'transformer.wte.weight'"));
}

// A square weight has the same shape transposed: only the table knows that it is.
TEST_F(Matching, MapToOwnNamesKeepsTheLayout) {
  auto tensors = made(gpt, WeightNames::huggingface);
  std::vector<float> plain(64), renamed(64);
  ASSERT_TRUE(match(tensors, {}, gpt).read("block1.attention.project.weight", plain));
  find(*tensors, "transformer.h.0.attn.c_proj.weight").name = "odd";
  for (WeightNames names : {WeightNames::automatic, WeightNames::huggingface}) {
    InitConfig init{.names = names, .map = {"odd:block1.attention.project.weight"}};
    ASSERT_TRUE(match(tensors, init, gpt).read("block1.attention.project.weight", renamed));
    EXPECT_EQ(renamed, plain);
  }
  EXPECT_NE(renamed, find(*tensors, "odd").values);
}

TEST_F(Matching, MapCannotNameAJoinedParameter) {
  MadeModel vit{{.name = "vit", .blocks = 1, .width = 8, .heads = 2, .patch = 4}, image_columns(8)};
  auto tensors = made(vit, WeightNames::huggingface);
  std::erase_if(tensors->tensors, [](const NamedTensor& t) {
    return t.name.find(".attention.attention.") != std::string::npos && t.name.ends_with("weight");
  });
  tensors->add("joined", {24, 8});
  EXPECT_THAT(
      refusal(tensors, {.map = {"joined:block1.attention.qkv.weight"}}, vit, Category::config),
      HasSubstr("'joined' cannot be 'block1.attention.qkv.weight', which is joined"));
}

TEST_F(Matching, TiedHeadThatIsSkippedOrAlone) {
  auto tied = made(gpt, WeightNames::huggingface);
  tied->tensors.push_back(find(*tied, "transformer.wte.weight"));
  NamedTensor& head = tied->tensors.back();
  head.name = "lm_head.weight";
  std::vector<float> table = head.values, values(table.size());
  std::erase_if(tied->tensors,
                [](const NamedTensor& t) { return t.name == "transformer.wte.weight"; });
  WeightMatch alone = match(tied, {}, gpt);
  ASSERT_TRUE(alone.read("tokens.weight", values));
  EXPECT_EQ(values, table);

  auto other = made(gpt, WeightNames::huggingface);
  other->add("lm_head.weight", {11, 8});
  EXPECT_THAT(refusal(other, {}, gpt), HasSubstr("is not equal to"));
  for (const char* skipped : {"lm_head.weight", "tokens.weight", "transformer.wte.*"})
    EXPECT_TRUE(match(other, {.skip = {skipped}}, gpt).left_over().empty()) << skipped;
}

class ConfigBeside : public CheckpointTest {
 protected:
  // Loads weights that lie beside a config.json of this text.
  std::string message(const MadeModel& model, const std::string& config) {
    NameTable table = name_table(WeightNames::huggingface, model.config, model.graph());
    auto tensors = foreign_tensors(table);
    write_safetensors(folder / "model.safetensors", to_write(tensors->tensors),
                      {.existing = Existing::replace});
    write_file_atomically(folder / "config.json", config, Category::checkpoint);
    WeightFile file(folder.path().string());
    return message_if_any(Category::checkpoint,
                          [&] { WeightMatch(file, {}, model.config, model.graph()); });
  }
};

TEST_F(ConfigBeside, MustComputeTheSame) {
  EXPECT_EQ(message(gpt, R"({"n_head": 2})"), "");
  EXPECT_THAT(
      message(gpt, R"({"n_head": 4})"),
      HasSubstr("config.json: n_head is 4, but this model computes with 2; set model.heads"));
  EXPECT_THAT(message(gpt, "{}"), HasSubstr("n_head is missing, so transformers' default 12"));
  EXPECT_THAT(message(gpt, R"({"model_type": "vit", "num_attention_heads": 2})"),
              HasSubstr("model_type is \"vit\", but weights of a \"gpt2\" are needed"));
  EXPECT_THAT(message(gpt, R"({"n_head": 2, "layer_norm_epsilon": 1e-6})"),
              HasSubstr("layer_norm_epsilon is 1e-06, but this model computes with 1e-05"));
  EXPECT_THAT(message(gpt, R"({"n_head": 2, "activation_function": "relu"})"),
              HasSubstr("activation_function is \"relu\""));
  EXPECT_THAT(message(gpt, R"({"n_head": 2, "scale_attn_by_inverse_layer_idx": true})"),
              HasSubstr("Spire has no such model"));
  EXPECT_THAT(message(gpt, "{"), HasSubstr("it is not JSON"));
  EXPECT_THAT(message(gpt, "[]"), HasSubstr("it is not a map"));
  MadeModel vit{{.name = "vit", .blocks = 1, .width = 8, .heads = 2, .patch = 4}, image_columns(8)};
  std::string heads = R"({"num_attention_heads": 2})";
  EXPECT_THAT(message(vit, heads), HasSubstr("layer_norm_eps is missing, so transformers' default "
                                             "1e-12, but this model computes "
                                             "with 1e-06; set model.epsilon to that"));
  vit.config.epsilon = 1e-12;
  EXPECT_EQ(message(vit, heads), "");
}

const MadeModel llama{
    {.name = "llama", .blocks = 1, .width = 8, .heads = 4, .kv_heads = 2, .mlp_width = 6},
    token_columns(6),
    11};

TEST_F(ConfigBeside, OfALlamaMustComputeTheSame) {
  auto with = [&](const std::string& more) {
    return message(llama, R"({"num_attention_heads": 4, "num_key_value_heads": 2)" + more + "}");
  };
  std::string epsilon = R"(, "rms_norm_eps": 1e-5)";
  EXPECT_EQ(with(epsilon), "");
  EXPECT_EQ(with(epsilon + R"(, "rope_scaling": null, "rope_theta": 10000.0)"), "");
  EXPECT_EQ(with(epsilon + R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4})"),
            "");
  EXPECT_THAT(with(""), HasSubstr("rms_norm_eps is missing, so transformers' default 1e-06, but "
                                  "this model computes with 1e-05; set model.epsilon to that"));
  EXPECT_THAT(with(epsilon + R"(, "rope_theta": 500000.0)"),
              HasSubstr("rope_theta is 500000.0, but this model computes with 10000.0; set "
                        "model.rope_theta to that"));
  EXPECT_THAT(with(epsilon + R"(, "rope_parameters": {"rope_theta": 500000.0})"),
              HasSubstr("rope_theta is 500000.0"));
  for (const char* stretched : {R"(, "rope_scaling": {"type": "linear", "factor": 2.0})",
                                R"(, "rope_parameters": {"rope_type": "linear"})"})
    EXPECT_THAT(with(epsilon + stretched), HasSubstr("rope_type is \"linear\", but this model"));
  EXPECT_THAT(with(epsilon + R"(, "attention_bias": true)"), HasSubstr("Spire has no such model"));
  EXPECT_THAT(message(llama, R"({"num_attention_heads": 4})"),
              HasSubstr("num_key_value_heads is missing, so transformers' default 4, but this "
                        "model computes with 2; set model.kv_heads to that"));
  EXPECT_THAT(message(llama, R"({"model_type": "gpt2"})"),
              HasSubstr("weights of a \"llama\" are needed"));
}

// What export writes is what import accepts.
TEST_F(ConfigBeside, IsAlsoWritten) {
  MadeModel vit{{.name = "vit", .blocks = 1, .width = 8, .heads = 2, .patch = 4}, image_columns(8)};
  for (const MadeModel& model : {gpt, vit, llama}) {
    NameTable table = name_table(WeightNames::huggingface, model.config, model.graph());
    EXPECT_EQ(message(model, foreign_config(table, model.config, model.graph())), "");
  }
}

// Spire's own files say whose names they have, where a file alone would not, and heads.
TEST_F(ConfigBeside, OwnFilesNeedNoQuestion) {
  MadeModel mlp{{.name = "mlp"}, image_columns(4)};
  auto written = [&](const MadeModel& model, WeightNames names) {
    NameTable table = name_table(names, model.config, model.graph());
    std::vector<TensorToWrite> all;
    for (const NamedParameter& parameter : table.parameters)
      for (const TensorPart& part : parameter.parts)
        all.push_back({part.name, part.shape,
                       [](int64_t, std::span<float> out) { std::ranges::fill(out, 0.5f); }});
    write_safetensors(
        folder / "own.safetensors", all,
        {.existing = Existing::replace, .metadata = own_metadata(table, model.graph())});
    return WeightFile((folder / "own.safetensors").string());
  };
  WeightFile plain = written(mlp, WeightNames::pytorch);
  EXPECT_EQ(WeightMatch(plain, {}, mlp.config, mlp.graph()).names(), WeightNames::pytorch);

  WeightFile heads = written(gpt, WeightNames::spire);
  EXPECT_THAT(WeightMatch(heads, {}, gpt.config, gpt.graph()).text(),
              testing::Not(HasSubstr("not checked")));
  MadeModel four = gpt;
  four.config.heads = 4;
  EXPECT_THAT(
      message_of(Category::checkpoint, [&] { WeightMatch(heads, {}, four.config, four.graph()); }),
      HasSubstr("has model.heads 2, but this model computes with 4"));

  WeightFile turned = written(llama, WeightNames::spire);
  EXPECT_THAT(WeightMatch(turned, {}, llama.config, llama.graph()).text(),
              testing::Not(HasSubstr("not checked")));
  MadeModel slower = llama;
  slower.config.rope_theta = 500000;
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { WeightMatch(turned, {}, slower.config, slower.graph()); }),
              HasSubstr("has model.rope_theta 10000, but this model computes with 500000"));
}

// Metadata has all that one of both models computes: a key that is left out has a meaning, too.
TEST(OwnMetadata, IsComparedInBothDirections) {
  MadeModel equal = llama;
  equal.config.kv_heads = 4;
  auto written = [](const MadeModel& model) {
    Graph graph = model.graph();
    return own_metadata(name_table(WeightNames::spire, model.config, graph), graph);
  };
  auto message = [](const std::map<std::string, std::string>& metadata, const MadeModel& model) {
    return message_of(Category::checkpoint, [&] { check_metadata(metadata, "w", model.graph()); });
  };
  EXPECT_FALSE(written(equal).contains("spire.kv_heads"));
  EXPECT_TRUE(check_metadata(written(equal), "w", equal.graph()));
  EXPECT_THAT(message(written(equal), llama),
              HasSubstr("has model.kv_heads 4, but this model computes with 2"));
  EXPECT_THAT(message(written(llama), equal),
              HasSubstr("has model.kv_heads 2, but this model computes with 4"));
  auto straight = written(llama), turned = written(gpt);
  straight.erase("spire.rope_theta");
  turned["spire.rope_theta"] = "10000";
  EXPECT_THAT(message(straight, llama),
              HasSubstr("has model.rope_theta 0, but this model computes with 10000"));
  EXPECT_THAT(message(turned, gpt),
              HasSubstr("has model.rope_theta 10000, but this model computes with 0"));
  straight.erase("spire.heads");
  EXPECT_FALSE(check_metadata(straight, "w", llama.graph()));
}

TEST_F(ConfigBeside, FilesOfOtherKinds) {
  for (const char* name : {"w.pt", "w.bin"})
    EXPECT_THAT(message_of(Category::checkpoint, [&] { WeightFile file(name); }),
                HasSubstr("Spire does not read pickled files"));
  EXPECT_THAT(message_of(Category::checkpoint, [&] { WeightFile file("w.npz"); }),
              HasSubstr("not from .npz files"));
  EXPECT_THAT(message_of(Category::checkpoint, [&] { WeightFile file("best"); }),
              HasSubstr("best: nothing is there"));
}

}  // namespace
}  // namespace spire
