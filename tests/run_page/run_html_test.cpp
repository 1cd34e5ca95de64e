// The page of a run is well-formed, needs no network, escapes all texts, and says how the run
// ended.
#include "engine/run_page/run_html.h"

#include <sys/file.h>

#include <gmock/gmock.h>

#include <spire/error.h>

#include "engine/page/html_text.h"
#include "engine/run_page/confusion_html.h"
#include "engine/run_page/run_charts.h"
#include "engine/run_page/sample_html.h"
#include "tests/page/elements.h"
#include "tests/run_page/made_run_folder.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RunPage : public ::testing::Test {
 protected:
  std::string page(const ConfusionMatrix* confusion = nullptr) {
    return run_html({read_run_files(folder_.path())}, confusion);
  }
  TemporaryFolder folder_;
};

std::vector<std::string> titles_of(const std::vector<CurveChart>& charts) {
  std::vector<std::string> titles;
  for (const CurveChart& chart : charts) titles.push_back(chart.title);
  return titles;
}

TEST_F(RunPage, OfAnEndedRunIsWholeAndSelfContained) {
  write_made_run(folder_.path());
  std::string html = page();
  auto elements = elements_of(html);
  EXPECT_EQ(elements["html"], 1);
  EXPECT_EQ(elements["figure"], 7);  // loss, accuracy, lr, norm, speed; time, memory
  EXPECT_EQ(elements["script"] + elements["link"] + elements["img"], 0);
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  for (const char* text :
       {"done, step 400, epoch 4, test accuracy 87.50%, best validation accuracy 88.17% at step "
        "400",
        "0123456789abcdef", "fedcba9876543210", "cnn",
        "1 file, 2.0 KiB each; best: step_00000400.h5", "1:15", "name: cnn",
        "cpu:0, cpu:1; 4 towers in 1 process", "accuracy 87.50% with the weights of step 300",
        "trainer report --evaluate"})
    EXPECT_THAT(html, HasSubstr(html_text(text))) << text;
}

// best.metric decides, and the figures are of the data that the summary names.
TEST_F(RunPage, NamesTheMetricAskedForAndItsData) {
  auto state = [&](const std::string& val, const std::string& test) {
    write_made_run(folder_.path());
    put(folder_ / "config.yaml",
        to_yaml(parse_config({}, {"best.metric=f1_macro", "eval.metrics=[f1_macro]"}).config));
    put(folder_ / "metrics.jsonl", R"({"step":4,"epoch":1,"val/loss":1,"val/accuracy":0.5,)"
                                   R"("val/f1_macro":0.25})"
                                   "\n"
                                   R"({"step":8,"epoch":2,"val/loss":1,"val/accuracy":0.75,)"
                                   R"("val/f1_macro":0.125})"
                                   "\n");
    put(folder_ / "summary.json", R"({"steps":8,"epochs":2.0,"val":{"loss":1,"accuracy":0.75,)"
                                  R"("f1_macro":0.125,"best_f1_macro":0.25)" +
                                      val + "}" + test + "}");
    return state_text(read_run_files(folder_.path()));
  };
  EXPECT_THAT(state("", ""), HasSubstr(", epoch 2, best test f1_macro 0.2500 at step 4"));
  EXPECT_THAT(state(R"(,"data":"validation")",
                    R"(,"test":{"loss":1,"accuracy":0.5,"f1_macro":0.2,"step":4})"),
              HasSubstr("test f1_macro 0.2000, best validation f1_macro 0.2500 at step 4"));
  RunFiles run = read_run_files(folder_.path());
  EXPECT_THAT(titles_of(learning_charts({run})), ElementsAre("Loss", "Accuracy", "F1_macro"));
  EXPECT_EQ(learning_charts({run})[2].curves[0].label, "validation");
}

TEST_F(RunPage, SaysHowTheRunEnded) {
  struct Case {
    int exit;
    const char *stopped_by, *text;
  };
  for (auto [exit, stopped_by, text] :
       {Case{75, "signal", "stopped by a signal"}, Case{75, "max_time", "stopped by max_time"},
        Case{0, "early_stop", "stopped early"}, Case{7, "loss is nan", "diverged: loss is nan"},
        Case{6, "no memory", "failed (exit 6): no memory"}}) {
    write_made_run(folder_.path(), exit, stopped_by);
    EXPECT_THAT(state_text(read_run_files(folder_.path())), HasSubstr(text));
  }
}

TEST_F(RunPage, OfARunThatHoldsItsLockIsRunning) {
  write_made_run(folder_.path());
  put(folder_ / ".spire_run", "here");
  EXPECT_EQ(read_run_files(folder_.path()).state, RunState::ended);
  int record = ::open((folder_ / ".spire_run").c_str(), O_RDWR);
  ASSERT_EQ(::flock(record, LOCK_EX), 0);
  RunFiles run = read_run_files(folder_.path());
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_FALSE(run.summary);  // of an earlier part of the run
  EXPECT_THAT(state_text(run), HasSubstr("running, step 400"));
  elements_of(run_html({run}));
  ::close(record);
  std::filesystem::remove(folder_ / "summary.json");
  EXPECT_EQ(read_run_files(folder_.path()).state, RunState::unclear);
  elements_of(page());
}

// A resumed run whose lock cannot be seen here.
TEST_F(RunPage, DoesNotTrustASummaryBeforeTheLastSteps) {
  write_made_run(folder_.path());
  auto add = [&](const std::string& line) {
    std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << line;
  };
  auto expect_unclear = [&](const char* state) {
    RunFiles run = read_run_files(folder_.path());
    EXPECT_EQ(run.state, RunState::unclear);
    EXPECT_FALSE(run.summary);
    EXPECT_THAT(run.notes, ElementsAre(HasSubstr("summary.json is older than metrics.jsonl")));
    EXPECT_THAT(state_text(run), HasSubstr(state));
    elements_of(run_html({run}));
  };
  add(made_step(401, 100));
  expect_unclear("or it runs on another host or in another container, step 401");
  // From a checkpoint before the end: fewer steps, but written later.
  write_made_run(folder_.path());
  put(folder_ / "metrics.jsonl", made_step(300, 100));
  EXPECT_EQ(read_run_files(folder_.path()).state, RunState::ended);
  add("{\"time\":\"9999-01-31T12:00:00Z\",\"step\":301,\"epoch\":3.01,\"train/loss\":1}\n");
  expect_unclear(", step 301");
}

TEST_F(RunPage, MayLackAnyFile) {
  EXPECT_THROW(read_run_files(folder_.path()), Error);
  EXPECT_THROW(read_run_files(folder_ / "none"), Error);
  for (const char* kept : {"config.yaml", "metrics.jsonl", "summary.json"}) {
    write_made_run(folder_.path());
    for (const char* name : {"config.yaml", "metrics.jsonl", "summary.json"})
      if (std::string(name) != kept) std::filesystem::remove(folder_ / name);
    std::filesystem::remove_all(folder_ / "checkpoints");
    elements_of(page());
  }
}

TEST_F(RunPage, NotesWhatItCannotRead) {
  write_made_run(folder_.path());
  put(folder_ / "summary.json", "{\"steps\": 4");
  put(folder_ / "config.yaml", "model: {name: of_tomorrow}\nsteps: <1>\n");
  std::string metrics = made_step(1, 10) + "rubbish\n";
  put(folder_ / "metrics.jsonl", metrics);
  RunFiles run = read_run_files(folder_.path());
  EXPECT_EQ(run.notes.size(), 3u);
  std::string html = run_html({run});
  elements_of(html);
  EXPECT_THAT(html, HasSubstr("summary.json is no JSON object"));
  EXPECT_THAT(html, HasSubstr("1 line of metrics.jsonl cannot be read"));
  EXPECT_THAT(html, HasSubstr("steps: &lt;1&gt;"));  // the text is shown all the same
  put(folder_ / "summary.json", R"({"steps":"x","val":[1],"devices":{"a":1},"exit":null})");
  elements_of(page());
}

TEST_F(RunPage, EscapesEveryText) {
  std::string evil = "</style><b a=\"'&";
  write_made_run(folder_.path());
  RunFiles run = read_run_files(folder_.path());
  run.directory = run.label = run.config_text = evil;
  run.config->model.name = run.config->data.name = evil;
  run.summary->stopped_by = run.summary->parameter_hash = run.summary->chain =
      run.summary->checkpoint = evil;
  run.summary->exit = 7;
  run.summary->devices = {evil};
  run.summary->planned_memory[evil] = 5;
  run.metrics.first_time = run.metrics.last_time = evil;
  run.metrics.devices[evil].busy.add(0, 0.5);
  run.metrics.devices[evil].throttled[evil] = 2;
  run.checkpoints = {{evil, 5}};
  run.best = run.latest = evil;
  run.sample = {evil, false, evil};
  run.notes = {evil};
  ConfusionMatrix confusion{{evil, "b"}, {1, 2, 3, 4}, evil};
  for (const std::string& html : {run_html({run}, &confusion), run_html({run, run})}) {
    EXPECT_EQ(elements_of(html)["style"], 1);
    EXPECT_THAT(html, Not(HasSubstr("<b a")));
  }
}

TEST_F(RunPage, LaysSeveralRunsOverEachOther) {
  write_made_run(folder_ / "a" / "run");
  write_made_run(folder_ / "b" / "run");
  write_made_run(folder_ / "c");
  std::vector<RunFiles> runs;
  for (const char* name : {"a/run", "b/run", "c"}) runs.push_back(read_run_files(folder_ / name));
  tell_apart(runs);
  EXPECT_EQ(runs[0].label, (folder_ / "a/run").string());  // two have the last name `run`
  EXPECT_EQ(runs[2].label, "c");
  auto charts = learning_charts(runs);
  EXPECT_THAT(titles_of(charts),
              ElementsAre("Loss", "Accuracy", "Learning rate", "Gradient norm", "Throughput"));
  EXPECT_EQ(charts[0].curves.size(), 6u);
  EXPECT_EQ(charts[2].curves.size(), 3u);
  std::string html = run_html(runs);
  EXPECT_EQ(elements_of(html)["figure"], 5);
  EXPECT_EQ(elements_of(html)["tr"], 4);
}

TEST_F(RunPage, ShowsDevicesAsFarAsTheyTell) {
  write_made_run(folder_.path());
  std::string text = made_step(1, 10);
  for (const char* name : {"cuda:0", "cuda:1"})
    text += fmt::format(R"({{"step":1,"device":"{}","rank":0,"device/arrival_ms":5,)"
                        R"("device/busy":0.7,"device/throttled":["heat"]}})"
                        "\n",
                        name);
  put(folder_ / "metrics.jsonl", text);
  RunFiles run = read_run_files(folder_.path());
  auto charts = device_charts(run);
  EXPECT_THAT(titles_of(charts), ElementsAre("Arrival", "Busy"));
  EXPECT_EQ(charts[0].curves.size(), 2u);
  EXPECT_THAT(run_html({run}), HasSubstr("cuda:1 was throttled (heat) in 1 recorded step."));
}

TEST_F(RunPage, TimePartsAddUpToTheStep) {
  write_made_run(folder_.path());
  CurveChart chart = time_chart(read_run_files(folder_.path()));
  double sum = 0;
  for (const Curve& curve : chart.curves) sum += curve.points.front().y;
  EXPECT_DOUBLE_EQ(sum, 10);           // of made_step()
  EXPECT_EQ(chart.curves.size(), 4u);  // parts that were never above 0 are left out
}

TEST_F(RunPage, HasTheNewestSample) {
  write_made_run(folder_.path());
  put(folder_ / "samples" / "step_00000100.txt", "old");
  put(folder_ / "samples" / "step_00000200.txt", "<new>");
  EXPECT_THAT(page(), HasSubstr("<pre>&lt;new&gt;</pre>"));
  put(folder_ / "samples" / "step_00000300.png", "\x89PNG");
  EXPECT_THAT(page(), HasSubstr("src=\"data:image/png;base64,iVBORw==\""));
  elements_of(page());
}

TEST(Base64, IsThatOfRfc4648) {
  std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                              {"f", "Zg=="},
                                                              {"fo", "Zm8="},
                                                              {"foo", "Zm9v"},
                                                              {"foob", "Zm9vYg=="},
                                                              {"fooba", "Zm9vYmE="},
                                                              {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) EXPECT_EQ(base64(bytes), text);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Confusion, ShowsSharesOrTheWorstPairs) {
  ConfusionMatrix small{{"cat", "dog"}, {8, 2, 0, 10}, "step_1.h5"};
  std::string html = "<!DOCTYPE html>\n" + confusion_html(small);
  EXPECT_EQ(elements_of(html)["td"], 10);
  EXPECT_THAT(html, HasSubstr("18 of 20 right, macro F1 0.8990"));  // (16/18 + 20/22) / 2
  EXPECT_THAT(html, HasSubstr("83.33%"));                           // precision of dog: 10 / 12
  EXPECT_THAT(html, HasSubstr("cat as dog: 2 of 10"));
  EXPECT_THAT(html, HasSubstr("80.00%"));
  ConfusionMatrix large;
  for (int64_t i = 0; i < 100; ++i) large.classes.push_back(fmt::format("class {}", i));
  large.counts.assign(100 * 100, 0);
  large.counts[7 * 100 + 9] = 41;
  large.counts[5 * 100 + 5] = 50;
  html = "<!DOCTYPE html>\n" + confusion_html(large);
  EXPECT_EQ(elements_of(html)["tr"], 2);
  EXPECT_THAT(html, HasSubstr("50 of 91 right, macro F1 0.3333"));  // F1 1, 0, 0; others: none
  EXPECT_THAT(html, HasSubstr("<td>class 7</td><td>class 9</td><td class=\"n\">41</td>"));
  EXPECT_THROW(confusion_html({{"a"}, {1, 2}, ""}), Error);
}

}  // namespace
}  // namespace spire
