#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/observe/published_state.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::vector<DeviceReport>& devices) {
  ManualClock clock;
  LatestState latest(clock.function());
  report_run(latest, devices);
  return prometheus_text(latest.state(), 1e9);
}

TEST(PrometheusText, HasTheRun) {
  std::string text = text_of({});
  for (const char* line :
       {"spire_step{job=\"cnn\"} 1200\n", "spire_steps_planned{job=\"cnn\"} 2350\n",
        "spire_loss{job=\"cnn\"} 0.12345\n", "spire_samples_per_second{job=\"cnn\"} 3912.4\n",
        "spire_step_part_seconds{job=\"cnn\",part=\"forward\"} 0.0165\n",
        "spire_train_metric{job=\"cnn\",metric=\"accuracy\"} 0.912\n",
        "spire_eval_metric{job=\"cnn\",metric=\"accuracy\"} 0.9132\n",
        "# TYPE spire_bad_steps_total counter\n", "spire_bad_steps_total{job=\"cnn\"} 1\n",
        "spire_start_timestamp_seconds{job=\"cnn\"} 1769860800\n",
        "spire_last_step_timestamp_seconds{job=\"cnn\"} 1769860800\n",
        "spire_checkpoint_write_seconds{job=\"cnn\"} 0.25\n",
        "spire_warnings_total{job=\"cnn\"} 1\n",
        "spire_output_free_bytes{job=\"cnn\"} 1000000000\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(PrometheusText, HasGpusInTheUnitsOfDcgm) {
  std::string text = text_of(gpu_reports());
  std::string labels = "{job=\"cnn\",rank=\"0\",device=\"cuda:1\"} ";
  for (const char* value :
       {"DCGM_FI_DEV_GPU_UTIL 75", "DCGM_FI_DEV_FB_USED 3072", "DCGM_FI_DEV_FB_FREE 1024",
        "DCGM_FI_DEV_GPU_TEMP 65", "DCGM_FI_DEV_POWER_USAGE 250.5",
        "DCGM_FI_DEV_POWER_MGMT_LIMIT 700", "DCGM_FI_DEV_SM_CLOCK 1980",
        "DCGM_FI_DEV_MAX_SM_CLOCK 2000", "DCGM_FI_DEV_XID_ERRORS 79",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL 2", "spire_device_arrival_seconds 0.025",
        "spire_device_link_sent_bytes_total 1000"}) {
    std::string line = value;
    line.replace(line.find(' '), 1, labels);
    EXPECT_THAT(text, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_THAT(text, HasSubstr("spire_device_throttled{job=\"cnn\",rank=\"0\",device=\"cuda:1\","
                              "reason=\"power cap\"} 1\n"));
}

TEST(PrometheusText, LeavesOutWhatIsNotKnown) {
  DeviceReport silent;
  std::string text = text_of({silent, silent});
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_GPU_TEMP")));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_XID_ERRORS"));
  LatestState latest;
  EXPECT_EQ(prometheus_text(latest.state(), {}), "");
  latest.on_start(gpu_start());
  text = prometheus_text(latest.state(), {});
  EXPECT_THAT(text, HasSubstr("spire_run_info"));
  EXPECT_THAT(text, HasSubstr("spire_start_timestamp_seconds"));
  for (const char* name : {"spire_loss", "spire_eval", "spire_output_free_bytes"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

// GPUs alone have DCGM's names: dashboards for them must not show CPUs.
TEST(PrometheusText, CpusHaveSpiresNamesOnly) {
  LatestState latest;
  latest.on_start(sample_start());
  StepReport step = sample_step();
  std::vector<DeviceReport> devices = gpu_reports();
  step.devices = devices;
  latest.on_step(step);
  std::string text = prometheus_text(latest.state(), {});
  EXPECT_THAT(text, HasSubstr("spire_device_busy_ratio{job=\"cnn\",rank=\"0\",device=\"cpu:1\"}"));
  EXPECT_THAT(text, Not(HasSubstr("DCGM")));
}

TEST(PrometheusText, EscapesLabelsAndWritesNumbersThatAreNotFinite) {
  LatestState latest;
  StartInfo start = gpu_start();
  start.output = "runs/a\"b\\c";
  latest.on_start(start);
  StepReport step = sample_step();
  step.loss = std::nan("");
  step.eta_seconds = std::numeric_limits<double>::infinity();
  latest.on_step(step);
  std::string text = prometheus_text(latest.state(), {});
  EXPECT_THAT(text, HasSubstr("spire_loss{job=\"a\\\"b\\\\c\"} Nan\n"));
  EXPECT_THAT(text, HasSubstr("spire_eta_seconds{job=\"a\\\"b\\\\c\"} +Inf\n"));
}

// Prometheus refuses a whole page for one label that is not UTF-8: a path may be any bytes.
TEST(PrometheusText, HasLabelsInUtf8) {
  LatestState latest;
  StartInfo start = gpu_start();
  start.output = "runs/caf\xc3\xa9_\xff_\xc3";
  latest.on_start(start);
  std::string text = prometheus_text(latest.state(), {});
  std::string name = "caf\xc3\xa9_\xef\xbf\xbd_\xef\xbf\xbd";
  EXPECT_THAT(text, HasSubstr("{job=\"" + name + "\""));
  EXPECT_THAT(text, HasSubstr("output=\"runs/" + name + "\""));
  EXPECT_EQ(valid_utf8(text), text);
}

}  // namespace
}  // namespace spire
