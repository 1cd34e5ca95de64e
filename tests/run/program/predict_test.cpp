// trainer predict on the checkpoints of small runs, and what evaluations show of a model's work.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/data/images/png.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

class Predict : public testing::Test {
 protected:
  // Trains, and returns what `predict` says of the run's directory.
  Output predict(const Words& words) const {
    return trainer(Words{"predict", "--checkpoint", (folder_ / "run").string()} + words);
  }
  // Expects that it ends with this code, and that its last line has the text.
  void expect_refused(int code, const Words& words, const std::string& says) const {
    Output output = predict(words);
    EXPECT_EQ(output.code, code) << output.out;
    EXPECT_THAT(output.last_error_line(), HasSubstr(says)) << testing::PrintToString(words);
  }
  void train(const Words& words) const {
    Output output = trainer(folder_.run("run", Words{"epochs=2"} + words));
    ASSERT_EQ(output.code, 0) << output.err;
  }
  // A model of 8 characters of a text of a, b and line ends.
  void train_on_letters(const std::string& model) const {
    std::string text = std::string(400, 'a') + "b\n" + std::string(400, 'b');
    train({"model.name=" + model, "model.blocks=1", "model.width=8", "model.heads=2",
           "data.name=tokens", "data.tokens.text=" + folder_.write("text.txt", text).string(),
           "data.tokens.vocabulary=characters", "data.tokens.length=8", "optimizer.name=adamw"});
  }

  RunFolder folder_;
};

TEST_F(Predict, ClassesAreThoseThatEvaluationCounts) {
  train(test_cnn);
  Output output = predict({});
  ASSERT_EQ(output.code, 0) << output.err;
  auto lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), 101u);
  EXPECT_EQ(lines[0], "sample,class,name,probability,p_0,p_1,p_2,p_3,truth");
  std::string labels = content_of(folder_ / "data/t10k-labels-idx1-ubyte");
  ASSERT_EQ(labels.size(), 108u);
  int right = 0;
  for (size_t i = 0; i < 100; ++i) {
    auto cells = cells_of(lines[i + 1]);
    ASSERT_EQ(cells.size(), 9u);
    EXPECT_EQ(cells[0], std::to_string(i));
    EXPECT_EQ(cells[8], std::to_string(labels[8 + i]));
    double sum = 0;
    for (size_t c = 4; c < 8; ++c) sum += std::stod(cells[c]);
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(cells[3], cells[4 + static_cast<size_t>(std::stoi(cells[1]))]);
    right += std::stoi(cells[1]) == labels[8 + i] ? 1 : 0;
  }
  EXPECT_EQ(right / 100.0, folder_.summary("run")["val"]["best_accuracy"].get<double>());
}

// The 12 x 12 test images of the run folder, from the 16th byte of their file on.
PngImage test_image(const RunFolder& folder, size_t sample) {
  std::string file = content_of(folder / "data/t10k-images-idx3-ubyte");
  auto first = file.begin() + 16 + static_cast<std::ptrdiff_t>(144 * sample);
  return {12, 12, 1, {first, first + 144}};
}

// "sample,REST" of the test data and "FILE,row,REST" of a file.
std::string behind_sample(const std::string& line) {
  return line.substr(line.find(','));
}
std::string behind_row(const std::string& line) {
  return behind_sample(behind_sample(line).substr(1));
}
std::string truth_of(const std::string& line) {
  return line.substr(line.rfind(','));
}

// Without AVX-512 oneDNN adds in another order for batches of another size.
MATCHER_P(AnswersAs, want, "has the words and, up to their rounding, the numbers of " + want) {
  auto found = cells_of(arg), wanted = cells_of(want);
  return std::ranges::equal(found, wanted, [](const std::string& a, const std::string& b) {
    double number = std::strtod(b.c_str(), nullptr);
    double off = std::abs(std::strtod(a.c_str(), nullptr) - number);
    return a == b || (number != 0 && off <= 1e-5 * number);
  });
}

TEST_F(Predict, FilesAnswerAsTheTestDataThatTheyHold) {
  train(test_cnn);
  auto expected = lines_of(predict({}).out);
  std::string idx = (folder_ / "images.idx").string();
  fs::copy(folder_ / "data/t10k-images-idx3-ubyte", idx);
  fs::create_directories(folder_ / "photos/inner");
  write_png(folder_ / "photos/b.png", test_image(folder_, 5));
  write_png(folder_ / "photos/inner/a.png", test_image(folder_, 6));
  fs::remove_all(folder_ / "data");  // none of it is needed
  Output output = predict({idx, (folder_ / "photos").string(), "--batch", "7"});
  ASSERT_EQ(output.code, 0) << output.err;
  auto lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), 103u);
  EXPECT_EQ(lines[0], "input,row,class,name,probability,p_0,p_1,p_2,p_3");
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_THAT(lines[i + 1], StartsWith(idx + "," + std::to_string(i) + ","));
    EXPECT_THAT(behind_row(lines[i + 1]) + truth_of(expected[i + 1]),
                AnswersAs(behind_sample(expected[i + 1])));
  }
  EXPECT_THAT(lines[101], StartsWith((folder_ / "photos/b.png").string() + ",0,"));
  EXPECT_THAT(lines[102], StartsWith((folder_ / "photos/inner/a.png").string() + ",0,"));
  EXPECT_THAT(behind_row(lines[101]) + truth_of(expected[6]),
              AnswersAs(behind_sample(expected[6])));
  EXPECT_THAT(behind_row(lines[102]) + truth_of(expected[7]),
              AnswersAs(behind_sample(expected[7])));
  EXPECT_EQ(lines_of(predict({idx, "--count", "3"}).out).size(), 4u);
}

// What a line begins with: "truth: loss 0.27 accuracy 0.92 of 100 samples".
std::string truth_line(const std::string& log) {
  size_t at = log.rfind("truth: ");
  return at == log.npos ? "" : log.substr(at, log.find('\n', at) - at);
}

// HDF5 files answer as the test data that they hold, and the truth is summed up as `eval` does it.
TEST_F(Predict, FilesWithTargetsSayHowGoodThePredictionsAre) {
  train(test_cnn);
  Output own = predict({});
  auto expected = lines_of(own.out);
  std::string file = (folder_ / "all.h5").string();
  ASSERT_EQ(trainer(Words{"dataset", "convert", "--to", file} + folder_.run("other", {})).code, 0);
  Output eval = trainer({"eval", "--checkpoint", (folder_ / "run").string()});
  ASSERT_EQ(eval.code, 0) << eval.err;
  fs::remove_all(folder_ / "data");
  Output output = predict({file, "--batch", "7"});
  ASSERT_EQ(output.code, 0) << output.err;
  auto lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), 101u);
  EXPECT_EQ(lines[0], "input,row,class,name,probability,p_0,p_1,p_2,p_3,truth");
  for (size_t i = 1; i <= 100; ++i)
    EXPECT_THAT(behind_row(lines[i]), AnswersAs(behind_sample(expected[i])));
  EXPECT_EQ(truth_line(output.err), truth_line(own.err));
  double loss = 0, accuracy = 0, eval_loss = 0, eval_accuracy = 0;
  ASSERT_EQ(std::sscanf(truth_line(output.err).c_str(),
                        "truth: loss %lf accuracy %lf of 100 samples", &loss, &accuracy),
            2);
  std::string measured = eval.out.substr(eval.out.find("test_loss"));
  ASSERT_EQ(
      std::sscanf(measured.c_str(), "test_loss %lf test_accuracy %lf", &eval_loss, &eval_accuracy),
      2);
  EXPECT_NEAR(loss, eval_loss, 3e-5 * eval_loss);  // six digits are printed
  EXPECT_EQ(accuracy, eval_accuracy);
  EXPECT_EQ(truth_line(predict({file, "--log-level", "error"}).err), "");
}

TEST_F(Predict, FilesThatCannotBeReadEndItOrAreLeftOut) {
  train(test_mlp);
  std::string good = (folder_ / "a,\"b\".png").string(), bad = (folder_ / "bad.png").string();
  write_png(good, test_image(folder_, 0));
  std::ofstream(bad) << "no image";
  std::string missing = (folder_ / "missing.png").string();
  for (const std::string& word : {bad, missing}) {
    Output stopped = predict({good, word});
    EXPECT_EQ(stopped.code, 4);
    EXPECT_THAT(stopped.last_error_line(), StartsWith("error[4]: " + word + ": "));
    EXPECT_THAT(stopped.err, HasSubstr("; --on-error skip leaves such inputs out"));
  }
  fs::path file = folder_ / "out.json";
  Output skipped = predict(
      {bad, good, missing, "--on-error", "skip", "--format", "json", "--to", file.string()});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("warning: " + bad + ": its 8 bytes are no JPEG, PNG"));
  EXPECT_THAT(skipped.err, HasSubstr("warning: " + missing + ": there is no such file"));
  EXPECT_THAT(skipped.err, HasSubstr("warning: 2 inputs left out\n"));
  Json rows = Json::parse(content_of(file));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["input"], good);
  EXPECT_EQ(rows[0]["row"], 0);
  EXPECT_THAT(predict({good}).out, HasSubstr("/a,\"\"b\"\".png\",0,"));
  EXPECT_EQ(predict({bad, "--on-error=skip", "--log-level=error"}).err,
            "error[4]: none of the inputs could be read\n");
}

TEST_F(Predict, TablesNeedTheirFeaturesOnly) {
  std::string table = "width,height,kind\n", features = "height,note,width\n";
  for (int i = 0; i < 60; ++i) {
    table += fmt::format("{},{},{}\n", i % 7, i % 5, i % 2 == 0 ? "even" : "odd");
    if (i < 3) features += fmt::format("{},hello,{}\n", i % 5, i % 7);
  }
  std::ofstream(folder_ / "train.csv") << table;
  std::ofstream(folder_ / "mine.csv") << features;
  std::ofstream(folder_ / "all.csv") << table;
  train({"model.name=mlp", "model.hidden=[4]", "data.name=csv",
         "data.path=" + (folder_ / "train.csv").string(), "data.csv.target=kind"});
  fs::remove(folder_ / "train.csv");
  std::string mine = (folder_ / "mine.csv").string();
  Output output = predict({mine});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("columns that the model does not use are ignored: 'note'"));
  auto some = lines_of(output.out), all = lines_of(predict({(folder_ / "all.csv").string()}).out);
  ASSERT_EQ(some.size(), 4u);
  ASSERT_EQ(all.size(), 61u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_THAT(some[i], StartsWith(mine + "," + std::to_string(i - 1) + ","));
    EXPECT_EQ(behind_row(some[i]) + truth_of(all[i]), behind_row(all[i]));
    EXPECT_EQ(truth_of(all[i]), i % 2 == 1 ? ",even" : ",odd");
  }
  Output own = predict({mine, "--to", mine});
  EXPECT_EQ(own.code, 2);
  EXPECT_THAT(own.err, HasSubstr("mine.csv is one of the inputs; choose another file"));
  EXPECT_EQ(content_of(mine), features);
  std::ofstream(mine) << "width,height\n1,2\n1,x\n";
  Output broken = predict({mine});
  EXPECT_EQ(broken.code, 4);
  EXPECT_THAT(broken.last_error_line(), HasSubstr("mine.csv:3:3: 'height': 'x' is not a finite"));
}

TEST_F(Predict, SomeSamplesAreTheFirstOfAllAndJsonSaysTheSame) {
  train(test_mlp);
  auto all = lines_of(predict({}).out);
  auto some = lines_of(predict({"--count", "3"}).out);
  ASSERT_EQ(some.size(), 4u);
  for (size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], all[i]);
  fs::path file = folder_ / "three.json";
  Output output = predict({"--count", "3", "--format", "json", "--to", file.string()});
  ASSERT_EQ(output.code, 0) << output.err;
  Json rows = Json::parse(content_of(file));
  ASSERT_EQ(rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    auto cells = cells_of(some[i + 1]);
    EXPECT_EQ(rows[i]["class"], std::stoi(cells[1]));
    EXPECT_NEAR(rows[i]["probability"].get<double>(), std::stod(cells[3]), 1e-5);
  }
}

TEST_F(Predict, ImagesBecomeImagesInTrainingAndAfter) {
  train({"model.name=autoencoder", "model.channels=[4]", "data.normalize=unit", "eval.samples=5"});
  std::string png = "\x89PNG";
  EXPECT_THAT(content_of(folder_ / "run/samples/step_00000010.png"), StartsWith(png));
  EXPECT_THAT(content_of(folder_ / "run/samples/step_00000020.png"), StartsWith(png));
  EXPECT_TRUE(folder_.summary("run")["val"].contains("psnr"));
  fs::path images = folder_ / "images";
  Output output = predict({"--count", "7", "--to", images.string()});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("7 images in "));
  EXPECT_THAT(content_of(images / "000006.png"), StartsWith(png));
  EXPECT_FALSE(fs::exists(images / "000007.png"));
}

TEST_F(Predict, ImagesAreNamedAfterTheirInputs) {
  train({"model.name=autoencoder", "model.channels=[4]", "data.normalize=unit"});
  std::string idx = (folder_ / "images.idx").string(), in = (folder_ / "in").string();
  fs::copy(folder_ / "data/t10k-images-idx3-ubyte", idx);
  fs::create_directories(folder_ / "in/inner");
  write_png(folder_ / "in/x.png", test_image(folder_, 0));
  write_png(folder_ / "in/x.jpeg", test_image(folder_, 1));  // bytes tell what it is
  write_png(folder_ / "in/inner/x.png", test_image(folder_, 2));
  fs::remove_all(folder_ / "data");
  fs::path out = folder_ / "out";
  Output output = predict({in, idx, "--count", "5", "--to", out.string()});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("5 images in "));
  for (const char* name :
       {"inner/x.png", "x.png", "x_2.png", "images_000000.png", "images_000001.png"})
    EXPECT_THAT(content_of(out / name), StartsWith("\x89PNG")) << name;

  std::string before = content_of(folder_ / "in/x.png");
  Output over = predict({in, "--to", in});
  EXPECT_EQ(over.code, 2);
  EXPECT_THAT(over.err, HasSubstr("is one of the inputs; choose another file"));
  EXPECT_EQ(content_of(folder_ / "in/x.png"), before);
}

TEST_F(Predict, APromptMayComeFromAFile) {
  train_on_letters("gpt");
  fs::remove(folder_ / "text.txt");
  std::string prompt = (folder_ / "prompt.txt").string();
  Words short_text = {"--tokens", "5", "--temperature", "0"};
  Output said = predict(Words{"--prompt", "ab\nb"} + short_text);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out.size(), 4u + 5u + 1u);
  for (const char* end : {"", "\n", "\r\n"}) {
    std::ofstream(prompt, std::ios::binary) << "ab\nb" << end;
    EXPECT_EQ(predict(Words{"--prompt-file", prompt} + short_text).out, said.out);
  }
  std::string command = fmt::format(
      "exec {} predict --checkpoint {} --prompt-file - --tokens 5 "
      "--temperature 0 < {}",
      TRAINER_PROGRAM, (folder_ / "run").string(), prompt);
  EXPECT_EQ(Program("/bin/sh", {"-c", command}).finish().out, said.out);
  expect_refused(4, {"--prompt-file", "/nowhere"},
                 "--prompt-file /nowhere: cannot be read: No such file");
  expect_refused(4, {"--prompt-file", "/"}, "Is a directory");
  expect_refused(2, {"--prompt-file", prompt, "--prompt", "a"}, "excludes");
  expect_refused(4, {"--prompt", "ab\xc3\xa9"},
                 "the prompt: byte 2: the character U+00E9 is not in the vocabulary of 3; "
                 "leave it out, or add --unknown skip");
  Output skipped = predict(Words{"--prompt",
                                 "a\xc3\xa9"
                                 "b\n!b",
                                 "--unknown", "skip"} +
                           short_text);
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("2 characters of the prompt left out"));
  EXPECT_THAT(skipped.out, testing::EndsWith(said.out.substr(4)));
  std::ofstream(prompt) << "\n";
  expect_refused(2, {"--prompt-file", prompt}, "the prompt is empty");
  std::ofstream(prompt) << std::string((1 << 20) + 1, 'a');
  expect_refused(4, {"--prompt-file", prompt}, "is larger than 1048576 bytes");
  expect_refused(2, {prompt}, "takes no input files; give the text to continue by --prompt or");
}

TEST_F(Predict, TextsEndAtStopWordsAndAnswerFilesOfPrompts) {
  train_on_letters("gpt");
  auto alone = [&](const std::string& prompt, const Words& more) {
    Output output = predict(Words{"--tokens", "12", "--prompt", prompt} + more);
    EXPECT_EQ(output.code, 0) << output.err;
    return output.out;
  };
  Words sampled = {"--top-p", "0.9", "--seed", "3"};
  std::string whole = alone("ab", sampled);
  ASSERT_EQ(whole.size(), 2u + 12u + 1u);
  // The third and fourth generated characters end the text where they first stand together.
  std::string word = whole.substr(4, 2), text = whole.substr(2, 12);
  std::string before = text.substr(0, text.find(word));
  EXPECT_EQ(alone("ab", sampled + Words{"--stop", "zz", "--stop", word}), "ab" + before + "\n");

  // Each answer is that of the prompt alone, whichever others are in the file.
  fs::path lines = folder_ / "lines.txt", objects = folder_ / "objects.jsonl";
  std::ofstream(lines) << "ba\r\n\nab\naaaabbbbaaaa";
  std::ofstream(objects) << R"({"prompt": "ab", "id": 7})"
                         << "\n"
                         << R"({"prompt": "a\nb"})";
  auto answers = [&](const fs::path& file) {
    Output output = predict(Words{"--prompts", file.string(), "--tokens", "12"} + sampled);
    EXPECT_EQ(output.code, 0) << output.err;
    std::string all;
    for (const std::string& line : lines_of(output.out)) {
      auto answer = nlohmann::json::parse(line);
      EXPECT_EQ(answer["tokens"], 12);
      EXPECT_EQ(answer["ended"], "length");
      all += std::string(answer["prompt"]) + std::string(answer["text"]) + "\n";
    }
    return all;
  };
  std::string long_prompt = "aaaabbbbaaaa";
  EXPECT_EQ(answers(lines), alone("ba", sampled) + whole + alone(long_prompt, sampled));
  EXPECT_EQ(answers(objects), whole + alone("a\nb", sampled));
  EXPECT_THAT(predict({"--prompt", long_prompt, "--tokens", "1"}).err,
              HasSubstr("warning: the prompt has 12 tokens; the model reads the newest 8"));
  EXPECT_THAT(predict({"--prompt", long_prompt.substr(0, 8), "--tokens", "1"}).err,
              testing::Not(HasSubstr("the prompt has")));

  for (const char* p : {"0", "1.5", "-1", "nan"})
    expect_refused(2, {"--prompt", "a", "--top-p", p}, "top p is");
  expect_refused(2, {"--prompt", "a", "--stop", ""}, "a stop word is empty");
  expect_refused(2, {"--prompt", "a", "--prompts", lines.string()}, "excludes");
  expect_refused(2, {"--prompt", "a", "--stream"}, "--stream: is for several");
  expect_refused(4, {"--prompts", "/nowhere"}, "--prompts /nowhere: cannot be");
  std::ofstream(lines) << "\n\n";
  expect_refused(4, {"--prompts", lines.string()}, "lines.txt: has no prompts");
  for (const char* line : {"ab", "{\"text\": \"a\"}", "{\"prompt\": 3}"}) {
    std::ofstream(objects) << "\n" << line;
    expect_refused(4, {"--prompts", objects.string()},
                   "objects.jsonl:2: expected {\"prompt\": \"text\"}");
  }
  std::ofstream(objects) << R"({"prompt": ""})";
  expect_refused(4, {"--prompts", objects.string()}, ":1: the prompt is empty");
}

// Prompts on the command line, written together one, two or all at a time; a stop word ends each
// text on its own, and the parts of a stream are the texts.
TEST_F(Predict, SeveralPromptsAreAnsweredAsEachAlone) {
  train_on_letters("llama");
  const Words prompts = {"ba", "ab", "aaaabbbbaaaa", "b"};
  Words options = {"--tokens", "12", "--seed", "3"};
  Words asked;
  for (const std::string& prompt : prompts) asked = asked + Words{"--prompt", prompt};
  auto alone = [&](const std::string& prompt) {
    std::string out = predict(Words{"--prompt", prompt} + options).out;
    return out.substr(0, out.size() - 1);  // without the line end
  };
  std::vector<std::string> texts(4), ended(4);
  for (bool stops : {false, true}) {
    if (stops) options = options + Words{"--stop", alone("ab").substr(4, 2)};
    for (const char* batch : {"1", "3", "8"}) {
      Output output = predict(asked + options + Words{"--batch", batch});
      ASSERT_EQ(output.code, 0) << output.err;
      auto lines = lines_of(output.out);
      ASSERT_EQ(lines.size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        auto answer = nlohmann::json::parse(lines[i]);
        texts[i] = answer["text"];
        EXPECT_EQ(answer["prompt"], prompts[i]);
        EXPECT_EQ(prompts[i] + texts[i], alone(prompts[i])) << batch;
        ended[i] = answer["ended"];
      }
      EXPECT_EQ(ended[1], stops ? "stop" : "length");
    }
  }
  Output streamed = predict(asked + options + Words{"--stream", "--batch", "2"});
  std::vector<std::string> parts(4), ends(4);
  for (const std::string& line : lines_of(streamed.out)) {
    auto part = nlohmann::json::parse(line);
    auto index = part["index"].get<size_t>();
    ASSERT_LT(index, 4u);
    EXPECT_EQ(ends[index], "") << line;  // nothing follows the end
    if (part.contains("part")) parts[index] += std::string(part["part"]);
    if (part.contains("ended")) ends[index] = part["ended"];
  }
  EXPECT_EQ(parts, texts);
  EXPECT_EQ(ends, ended);
}

TEST_F(Predict, TokensBecomeText) {
  train({"model.name=gpt", "model.blocks=1", "model.width=8", "model.heads=2",
         "data.name=synthetic", "data.path=auto", "data.synthetic.kind=tokens",
         "data.synthetic.shape=[16]", "data.synthetic.classes=6", "data.synthetic.samples=64",
         "data.synthetic.test_samples=16", "optimizer.name=adamw", "optimizer.lr=0.01",
         "eval.samples=2"});
  std::string text = content_of(folder_ / "run/samples/step_00000004.txt");
  EXPECT_EQ(lines_of(text).size(), 6u) << text;  // prompt, tokens, blank; twice
  EXPECT_THAT(text, StartsWith("> "));
  Output output = predict({"--prompt", "x"});
  EXPECT_EQ(output.code, 4) << output.out;
  EXPECT_THAT(output.err, HasSubstr("tokens without a vocabulary"));
}

TEST_F(Predict, SaysWhatItCannotDo) {
  train(test_mlp);
  expect_refused(2, {"--prompt", "x"}, "--prompt works with language models only");
  expect_refused(2, {"--prompt-file", "x"}, "--prompt-file works with language models only");
  expect_refused(2, {"--on-error", "skip"}, "set data.on_error=skip");
  expect_refused(2, {"--on-error", "maybe", "x"}, "--on-error");
  expect_refused(4, {"x"}, "x: there is no such file or folder");
  expect_refused(4, {"./data.pth=x"}, "./data.pth=x: there is no such file or folder");
  expect_refused(3, {"--device", "cuda:0"}, "cuda:0");
  expect_refused(2, {"--format", "xml"}, "--format");
  expect_refused(2, {"data.pth=x"}, "did you mean 'data.path'");
  expect_refused(4, {"data.path=/nowhere"}, "/nowhere");
  Output missing = trainer({"predict", "--checkpoint", "/nowhere"});
  EXPECT_EQ(missing.code, 5);
  Output none = trainer({"predict"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--checkpoint"));
}

}  // namespace
}  // namespace spire
