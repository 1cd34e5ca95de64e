// The page of a run has its figures, its curves and how it ended, and its script draws them.
#include "tools/report/run_page.h"

#include <sys/file.h>

#include <gmock/gmock.h>

#include "engine/base/fail.h"
#include "tests/observe/page/drawn_page.h"
#include "tests/tools/report/made_run_folder.h"
#include "tests/tools/words.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class RunPage : public ::testing::Test {
 protected:
  RunFiles files() { return read_run_files(folder_.path()); }
  Json page() { return report_json({files()}); }
  Folder folder_;
};

TEST_F(RunPage, LeadsWithTheFigureOfUnseenData) {
  write_made_run(folder_.path());
  Json run = page()["runs"][0];
  EXPECT_EQ(run["figures"][0], Json({{"of", "test accuracy"},
                                     {"text", "87.50%"},
                                     {"note", "with the weights of step 300"}}));
  EXPECT_EQ(run["figures"][1]["of"], "best validation accuracy");
  EXPECT_EQ(run["figures"][1]["note"], "at step 400");
  EXPECT_EQ(run["state"], "done");
  EXPECT_EQ(run["verdict"], "good");
  EXPECT_EQ(run["progress"], "step 400, epoch 4");
  EXPECT_EQ(run["time"], "1:15");
  std::string facts = run["facts"].dump();
  expect_parts(facts, {"0123456789abcdef", "fedcba9876543210", "cnn",
                       "1 file, 2.0 KiB each; best: step_00000400.h5",
                       "cpu:0, cpu:1; 4 towers in 1 process"});
  EXPECT_THAT(run["config"].get<std::string>(), HasSubstr("name: cnn"));
  EXPECT_THAT(run["hint"][1].get<std::string>(), HasSubstr("trainer report --evaluate"));
  EXPECT_THAT(report_html({files()}),
              HasSubstr("done, step 400, epoch 4, test accuracy 87.50%, best validation accuracy "
                        "88.17% at step 400. The summary.json"));
}

// Batches alone jump: of four epochs and more the page has means of epochs.
TEST_F(RunPage, ShowsMeansOfEpochs) {
  write_made_run(folder_.path());
  Json loss = page()["runs"][0]["curves"]["train/loss"];
  ASSERT_EQ(loss["x"].size(), 4u);
  double sum = 0;
  for (int64_t step = 1; step <= 100; ++step)
    sum += Json::parse(made_step(step, 100))["train/loss"].get<double>();
  EXPECT_NEAR(loss["y"][0], sum / 100, 1e-4);
  EXPECT_GT(loss["high"][0], loss["y"][0]);
  EXPECT_EQ(page()["runs"][0]["curves"]["train/lr"]["x"].size(), 200u);  // as it is
  put(folder_ / "metrics.jsonl", made_step(1, 10) + made_step(2, 10));
  std::filesystem::remove(folder_ / "summary.json");
  EXPECT_EQ(page()["runs"][0]["curves"]["train/loss"]["x"].size(), 2u);
}

TEST_F(RunPage, DrawsWhatItHas) {
  SPIRE_SKIP_WITHOUT_NODE();
  write_made_run(folder_.path());
  Json page = drawn(report_html({files()}));
  EXPECT_EQ(page["figures"], Json({"Loss", "Accuracy", "Learning rate", "Gradient norm",
                                   "Throughput", "Time of a step", "Memory"}));
  std::string text = page["text"];
  EXPECT_LT(text.find("87.50%"), text.find("0123456789abcdef"));  // the figure before the hash
  EXPECT_EQ(page["paths"]["area"].size(), 4u + 4u);  // parts of a step; two kinds, two bars
  for (const Json& readout : page["readouts"])
    EXPECT_THAT(readout.get<std::string>(), HasSubstr("epoch "));
  put(folder_ / "metrics.jsonl",
      made_step(1, 10) + R"({"step":2,"epoch":0.2,"train/loss":null})" + "\n" + made_step(3, 10));
  page = drawn(report_html({files()}));
  std::string gap = page["paths"]["curve "][0];
  EXPECT_EQ(std::ranges::count(gap, 'M'), 2) << gap;
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
    return state_text(files());
  };
  EXPECT_THAT(state("", ""), HasSubstr(", epoch 2, best test f1_macro 0.2500 at step 4"));
  EXPECT_THAT(state(R"(,"data":"validation")",
                    R"(,"test":{"loss":1,"accuracy":0.5,"f1_macro":0.2,"step":4})"),
              HasSubstr("test f1_macro 0.2000, best validation f1_macro 0.2500 at step 4"));
  Json run = page()["runs"][0];
  EXPECT_EQ(run["metric"], "accuracy");
  EXPECT_EQ(run["decides"], "f1_macro");
  EXPECT_EQ(run["evaluated"], "validation");
  EXPECT_EQ(run["curves"]["val/f1_macro"]["y"], Json({0.25, 0.125}));
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
    EXPECT_THAT(state_text(files()), HasSubstr(text));
  }
}

TEST_F(RunPage, OfARunThatHoldsItsLockIsRunning) {
  write_made_run(folder_.path());
  put(folder_ / ".spire_run", "here");
  EXPECT_EQ(files().state, RunState::ended);
  int record = ::open((folder_ / ".spire_run").c_str(), O_RDWR);
  ASSERT_EQ(::flock(record, LOCK_EX), 0);
  RunFiles run = files();
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_FALSE(run.summary);  // of an earlier part of the run
  EXPECT_THAT(state_text(run), HasSubstr("running, step 400"));
  report_html({run});
  ::close(record);
  std::filesystem::remove(folder_ / "summary.json");
  EXPECT_EQ(files().state, RunState::unclear);
  page();
}

// A resumed run whose lock cannot be seen here.
TEST_F(RunPage, DoesNotTrustASummaryBeforeTheLastSteps) {
  write_made_run(folder_.path());
  auto add = [&](const std::string& line) {
    std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << line;
  };
  auto expect_unclear = [&](const char* state) {
    RunFiles run = files();
    EXPECT_EQ(run.state, RunState::unclear);
    EXPECT_FALSE(run.summary);
    EXPECT_THAT(run.notes, ElementsAre(HasSubstr("summary.json is older than metrics.jsonl")));
    EXPECT_THAT(state_text(run), HasSubstr(state));
    report_html({run});
  };
  add(made_step(401, 100));
  expect_unclear("or it runs on another host or in another container, step 401");
  // From a checkpoint before the end: fewer steps, but written later.
  write_made_run(folder_.path());
  put(folder_ / "metrics.jsonl", made_step(300, 100));
  EXPECT_EQ(files().state, RunState::ended);
  add("{\"time\":\"9999-01-31T12:00:00Z\",\"step\":301,\"epoch\":3.01,\"train/loss\":1}\n");
  expect_unclear(", step 301");
}

TEST_F(RunPage, MayLackAnyFile) {
  EXPECT_THROW(files(), Error);
  EXPECT_THROW(read_run_files(folder_ / "none"), Error);
  for (const char* kept : {"config.yaml", "metrics.jsonl", "summary.json"}) {
    write_made_run(folder_.path());
    for (const char* name : {"config.yaml", "metrics.jsonl", "summary.json"})
      if (std::string(name) != kept) std::filesystem::remove(folder_ / name);
    std::filesystem::remove_all(folder_ / "checkpoints");
    page();
  }
}

TEST_F(RunPage, NotesWhatItCannotRead) {
  write_made_run(folder_.path());
  put(folder_ / "summary.json", "{\"steps\": 4");
  put(folder_ / "config.yaml", "model: {name: of_tomorrow}\nsteps: <1>\n");
  std::string metrics = made_step(1, 10) + "rubbish\n";
  put(folder_ / "metrics.jsonl", metrics);
  RunFiles run = files();
  EXPECT_EQ(run.notes.size(), 3u);
  Json shown = report_json({run})["runs"][0];
  expect_parts(shown["notes"].dump(),
               {"summary.json is no JSON object", "1 line of metrics.jsonl cannot be read"});
  EXPECT_THAT(shown["config"].get<std::string>(), HasSubstr("steps: <1>"));  // all the same
  put(folder_ / "summary.json", R"({"steps":"x","val":[1],"devices":{"a":1},"exit":null})");
  page();
}

TEST_F(RunPage, EscapesEveryText) {
  std::string evil = "</style><b a=\"'&";
  write_made_run(folder_.path());
  RunFiles run = files();
  run.directory = run.label = run.config_text = evil;
  run.config->model.name = run.config->data.name = evil;
  run.summary->stopped_by = run.summary->parameter_hash = run.summary->chain =
      run.summary->checkpoint = evil;
  run.summary->exit = 7;
  run.summary->devices = {evil};
  run.summary->planned_memory_bytes[evil] = 5;
  run.metrics.first_time = run.metrics.last_time = evil;
  run.metrics.devices[evil].curves["device/busy"].add(0, 0.5);
  run.metrics.devices[evil].throttled[evil] = 2;
  run.checkpoints = {{evil, 5}};
  run.best = run.latest = evil;
  run.sample = {evil, false, evil};
  run.notes = {evil};
  ConfusionMatrix confusion{{evil, "b"}, {1, 2, 3, 4}, evil, {{7, 0, 1, 0.5, evil}}};
  std::vector<std::string> pages = {report_html({run}, &confusion), report_html({run, run})};
  for (const std::string& html : pages) EXPECT_THAT(html, Not(HasSubstr("<b a")));
  SPIRE_SKIP_WITHOUT_NODE();
  for (const std::string& html : pages)
    EXPECT_THAT(drawn(html)["text"].get<std::string>(), HasSubstr(evil));
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
  SPIRE_SKIP_WITHOUT_NODE();
  Json page = drawn(report_html(runs));
  EXPECT_EQ(page["figures"],
            Json({"Loss", "Accuracy", "Learning rate", "Gradient norm", "Throughput"}));
  EXPECT_EQ(page["elements"]["tr"], 4);
  EXPECT_EQ(page["cells"][1], "87.50%");                   // what the test data gave comes first
  EXPECT_EQ(page["paths"]["curve faint"].size(), 2 * 3u);  // training, beside evaluations
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
  Json run = page()["runs"][0];
  EXPECT_EQ(run["devices"]["cuda:1"]["curves"]["device/busy"]["y"], Json({0.7}));
  EXPECT_EQ(run["devices"]["cuda:1"]["throttled"], Json({{"heat", 1}}));
  SPIRE_SKIP_WITHOUT_NODE();
  Json shown = drawn(report_html({files()}));
  EXPECT_THAT(shown["figures"].dump(), HasSubstr(R"("Arrival","Busy"])"));
  EXPECT_THAT(shown["text"].get<std::string>(),
              HasSubstr("cuda:1 was throttled (heat) in 1 recorded step."));
}

TEST_F(RunPage, TimePartsAddUpToTheStep) {
  write_made_run(folder_.path());
  Json curves = page()["runs"][0]["curves"];
  double sum = 0;
  int parts = 0;
  for (const auto& [tag, curve] : curves.items())
    if (tag.starts_with("time/")) {
      sum += curve["y"][0].get<double>();
      ++parts;
    }
  EXPECT_DOUBLE_EQ(sum, 10);  // of made_step()
  EXPECT_EQ(parts, 8);
}

// A kind that only the plan or only the peak has is in both bars; the host's memory in none.
TEST_F(RunPage, MemoryHasTheKindsOfPlanAndPeak) {
  write_made_run(folder_.path());
  RunFiles of_run = files();
  of_run.summary->peak_memory_bytes["communication"] = 1048576;
  Json run = report_json({of_run})["runs"][0];
  EXPECT_EQ(run["peak"]["communication"], 1048576);
  EXPECT_FALSE(run["peak"].contains("host_rss"));
  EXPECT_THAT(run["facts"].dump(), HasSubstr("97.7 KiB"));  // 99 999 bytes
  SPIRE_SKIP_WITHOUT_NODE();
  std::string text = drawn(report_html({of_run}))["text"];
  expect_parts(text, {"3 MiB", "4 MiB"});
}

TEST_F(RunPage, HasTheNewestSample) {
  write_made_run(folder_.path());
  put(folder_ / "samples" / "step_00000100.txt", "old");
  put(folder_ / "samples" / "step_00000200.txt", "<new>");
  EXPECT_EQ(page()["runs"][0]["sample"]["text"], "<new>");
  put(folder_ / "samples" / "step_00000300.png", "\x89PNG");
  EXPECT_EQ(page()["runs"][0]["sample"]["png"], "iVBORw==");
}

TEST(Confusion, ShowsSharesOrTheWorstPairs) {
  ConfusionMatrix small{{"cat", "dog"}, {8, 2, 0, 10}, "step_1.h5", {{7, 0, 1, 0.75, "png"}}};
  Json json = confusion_json(small);
  EXPECT_THAT(json["caption"].get<std::string>(),
              HasSubstr("18 of 20 right, macro F1 0.8990"));  // (16/18 + 20/22) / 2
  EXPECT_EQ(json["scores"][1]["precision"], 0.833333);        // of dog: 10 / 12
  EXPECT_EQ(json["scores"][0]["recall"], 0.8);
  EXPECT_EQ(
      json["wrong"][0],
      Json({{"sample", 7}, {"actual", "cat"}, {"found", "dog"}, {"sure", 0.75}, {"png", "cG5n"}}));
  ConfusionMatrix large;
  for (int64_t i = 0; i < 100; ++i) large.classes.push_back(fmt::format("class {}", i));
  large.counts.assign(100 * 100, 0);
  large.counts[7 * 100 + 9] = 41;
  large.counts[5 * 100 + 5] = 50;
  json = confusion_json(large);
  EXPECT_THAT(json["caption"].get<std::string>(),
              HasSubstr("50 of 91 right, macro F1 0.3333"));  // F1 1, 0, 0; others: none
  EXPECT_EQ(json["pairs"], Json::array({{"class 7", "class 9", "41"}}));
  EXPECT_THROW(confusion_json({{"a"}, {1, 2}, ""}), Error);
}

TEST_F(RunPage, DrawsTheMatrixAndTheMostWrong) {
  SPIRE_SKIP_WITHOUT_NODE();
  write_made_run(folder_.path());
  ConfusionMatrix matrix{{"cat", "dog"}, {8, 2, 0, 10}, "step_1.h5", {{7, 0, 1, 0.75, "png"}}};
  Json page = drawn(report_html({files()}, &matrix));
  EXPECT_EQ(page["elements"]["td"], 10);
  EXPECT_EQ(page["elements"]["img"], 1);
  EXPECT_THAT(page["text"].get<std::string>(),
              HasSubstr("taken for dog, 75% sureis cattest sample 7"));
}

}  // namespace
}  // namespace spire
