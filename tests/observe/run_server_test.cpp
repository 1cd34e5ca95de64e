#include <cmath>
#include <regex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/observe/http/http_server.h"
#include "engine/observe/page/page.h"
#include "tests/observe/client.h"
#include "tests/observe/page/drawn_page.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct ServedPage {
  std::vector<std::string> notes, warnings;
  ManualClock clock;
  RunServer page{{.port = 0},
                 {.page = true},
                 [this](std::string_view text) { notes.emplace_back(text); },
                 [this](std::string_view text) { warnings.emplace_back(text); },
                 clock.function()};

  Json state() { return Json::parse(body_of(ask(page.port(), "/state.json"))); }
};

TEST(LivePage, ServesOneFileWithoutAnythingFromElsewhere) {
  ServedPage served;
  std::string answer = ask(served.page.port(), "/");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  std::string html = body_of(answer);
  EXPECT_THAT(html, StartsWith(std::string(page_beginning())));
  EXPECT_THAT(html, HasSubstr("data-view=\"live\""));
  EXPECT_THAT(ask(served.page.port(), "/else"), StartsWith("HTTP/1.1 404"));
}

// The page names the data of evaluations by it, and the metric that decides what is best.
TEST(LivePage, SaysWhichDataIsEvaluated) {
  StartInfo start = gpu_start();
  {
    ServedPage without;
    without.page.on_start(start);
    EXPECT_EQ(without.state()["run"]["evaluated"], "test");
  }
  start.val_samples = 100;
  ServedPage served;
  served.page.on_start(start);
  EXPECT_EQ(served.state()["run"]["evaluated"], "validation");
  EvalReport eval = sample_eval();
  eval.best = true;
  served.page.on_eval(eval);
  EXPECT_EQ(served.state()["best"]["decides"], served.state()["best"]["metric"]);
  eval.best_by = Metric::f1_macro;
  eval.others = {{Metric::f1_macro, 0.5}};
  served.page.on_eval(eval);
  EXPECT_EQ(served.state()["best"]["decides"]["name"], "f1_macro");
  EXPECT_EQ(served.state()["best"]["decides"]["value"], 0.5);
}

TEST(LivePage, StateHasTheRunFromBeforeItsStartOn) {
  ServedPage served;
  EXPECT_FALSE(served.state().contains("run"));
  report_run(served.page, gpu_reports());
  Json state = served.state();
  EXPECT_EQ(state["run"]["job"], "cnn");
  EXPECT_EQ(state["step"]["loss"], 0.12345);
  EXPECT_EQ(state["step"]["metric"]["text"], "91.20%");
  EXPECT_EQ(state["step"]["parts_ms"]["forward"], 16.5);
  EXPECT_EQ(state["eval"]["metric"]["value"], 0.9132);
  EXPECT_EQ(state["best"]["step"], 1200);
  EXPECT_EQ(state["checkpoint"]["bytes"], 5000);
  EXPECT_EQ(state["curve"]["loss"], Json({0.12345}));
  EXPECT_EQ(state["evals"]["step"], Json({1200.0}));
  Json& device = state["devices"][1];
  EXPECT_EQ(device["name"], "cuda:1");
  EXPECT_EQ(device["arrival_ms"], 25);
  EXPECT_EQ(device["memory_used_bytes"], 3221225472);
  EXPECT_EQ(device["throttled"], Json({"heat", "power cap"}));
  EXPECT_EQ(state["messages"][0]["text"], "the disk is nearly full");
  EXPECT_EQ(state["messages"][0]["warning"], true);
}

TEST(LivePage, NumbersThatAreNotFiniteAreNull) {
  ServedPage served;
  served.page.on_start(gpu_start());
  StepReport step = sample_step();
  step.loss = std::nan("");
  served.page.on_step(step);
  EXPECT_TRUE(served.state()["step"]["loss"].is_null());
  EXPECT_TRUE(served.state()["curve"]["loss"][0].is_null());
}

// Every name that the page's script reads is one that the state has.
TEST(LivePage, TheScriptReadsWhatTheStateHas) {
  ServedPage served;
  report_run(served.page, gpu_reports());
  Json state = served.state();
  state["ended"] = {};
  std::string script = content_of(SPIRE_ROOT "/engine/observe/page/live.js");
  auto expect_all = [&](const std::string& object, const Json& fields) {
    std::regex use("\\b" + object + "\\??\\.([a-z_]+)\\b(?!\\()");
    int uses = 0;
    for (std::sregex_iterator it(script.begin(), script.end(), use), end; it != end; ++it, ++uses)
      EXPECT_TRUE(fields.contains((*it)[1].str())) << object << "." << (*it)[1];
    EXPECT_GT(uses, 3) << object;
  };
  state["json"] = {};  // state.json
  expect_all("state", state);
  expect_all("r", state["run"]);
  expect_all("s", state["step"]);
  expect_all("d", state["devices"][1]);
  expect_all("c", state["curve"]);
}

TEST(LivePage, DrawsTheState) {
  SPIRE_SKIP_WITHOUT_NODE();
  ServedPage served;
  std::string html = body_of(ask(served.page.port(), "/"));
  EXPECT_THAT(drawn(html, served.state().dump())["text"].get<std::string>(),
              HasSubstr("The run is starting."));
  report_run(served.page, gpu_reports());
  Json page = drawn(html, served.state().dump());
  EXPECT_EQ(page["figures"], Json({"Loss", "Accuracy", "Learning rate", "Throughput"}));
  EXPECT_THAT(page["text"].get<std::string>(), HasSubstr("clock lowered: heat"));
  Json state = served.state();
  for (auto [exit, stopped_by, text] : {std::tuple{0, "", "cnndone"},
                                        {0, "early_stop", "stopped early"},
                                        {75, "max_time", "stopped by max_time"},
                                        {7, "loss is nan", "(exit 7): loss is nan"}}) {
    state["ended"] = {{"exit", exit}, {"stopped_by", stopped_by}};
    EXPECT_THAT(drawn(html, state.dump())["text"].get<std::string>(), HasSubstr(text));
  }
}

// A page that is open, which asks each second, gets the last state before the address is free.
TEST(LivePage, SaysHowTheRunEnded) {
  ServedPage served;
  report_run(served.page, gpu_reports());
  int port = served.page.port();
  EXPECT_FALSE(served.state().contains("ended"));
  RunSummary summary = sample_summary();
  summary.exit = 75;
  summary.stopped_by = "max_time";
  std::jthread run([&] { served.page.on_end(summary); });
  Json state;
  do state = Json::parse(body_of(ask(port, "/state.json")));
  while (!state.contains("ended"));
  EXPECT_EQ(state["ended"], Json({{"exit", 75}, {"stopped_by", "max_time"}}));
  EXPECT_EQ(state["step"]["loss"], 0.12345);
}

TEST(LivePage, KeepsTheLastMessages) {
  ServedPage served;
  for (int i = 0; i < 60; ++i) served.page.on_note("note " + std::to_string(i));
  Json messages = served.state()["messages"];
  ASSERT_EQ(messages.size(), PublishedState::max_messages);
  EXPECT_EQ(messages.front()["text"], "note 10");
  EXPECT_EQ(messages.back()["text"], "note 59");
}

TEST(LivePage, SaysItsAddressAndFreesItAtTheEnd) {
  ServedPage served;
  int port = served.page.port();
  served.page.on_start(gpu_start());
  EXPECT_THAT(served.notes,
              ElementsAre("live page: http://127.0.0.1:" + std::to_string(port) + "/"));
  EXPECT_TRUE(served.warnings.empty());
  Socket hanging = connect_to(loopback_address, port, in_a_minute());
  served.page.on_end(sample_summary());
  Listener free_again(port);
}

TEST(RunServer, AnswersPrometheusUntilTheEnd) {
  std::string said;
  RunServer endpoint(
      {.port = 0}, {.metrics = true}, [&](std::string_view text) { said = text; },
      [](std::string_view text) { ADD_FAILURE() << text; });
  int port = endpoint.port();
  EXPECT_EQ(body_of(ask(port, "/metrics")), "");
  report_run(endpoint, gpu_reports());
  EXPECT_EQ(said, "Prometheus reads the run's metrics at http://127.0.0.1:" + std::to_string(port) +
                      "/metrics");
  std::string answer = ask(port, "/metrics");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("spire_step{job=\"cnn\"} 1200\n"));
  EXPECT_THAT(ask(port, "/else"), StartsWith("HTTP/1.1 404"));
  endpoint.on_end(sample_summary());
  Listener free_again(port);
}

TEST(RunServer, WarnsWhereOtherMachinesReadTheMetrics) {
  std::string warning;
  RunServer endpoint(
      {.host = "0.0.0.0", .port = 0}, {.metrics = true}, [](std::string_view) {},
      [&](std::string_view text) { warning = text; });
  endpoint.on_start(gpu_start());
  EXPECT_THAT(warning, StartsWith("monitor.prometheus: other machines"));
}

// With one address for both keys.
TEST(RunServer, ServesThePageAndTheMetricsAtOneAddress) {
  std::vector<std::string> notes;
  RunServer server(
      {.port = 0}, {.page = true, .metrics = true},
      [&](std::string_view text) { notes.emplace_back(text); }, [](std::string_view) {});
  std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  report_run(server, gpu_reports());
  EXPECT_THAT(notes, ElementsAre("Prometheus reads the run's metrics at " + url + "/metrics",
                                 "live page: " + url + "/"));
  EXPECT_THAT(ask(server.port(), "/"), HasSubstr("data-view=\"live\""));
  EXPECT_THAT(ask(server.port(), "/state.json"), HasSubstr("\"job\":\"cnn\""));
  EXPECT_THAT(ask(server.port(), "/metrics"), HasSubstr("spire_step{job=\"cnn\"} 1200\n"));
}

}  // namespace
}  // namespace spire
