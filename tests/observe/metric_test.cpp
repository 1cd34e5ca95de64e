#include <cmath>

#include <gtest/gtest.h>

#include <spire/metric.h>

namespace spire {
namespace {

TEST(Metric, IsComputedFromMeans) {
  EXPECT_EQ(measure(Metric::accuracy, 0.3, 0.91).value, 0.91);
  EXPECT_EQ(measure(Metric::perplexity, std::log(32.0), 0.5).value, std::exp(std::log(32.0)));
  EXPECT_NEAR(measure(Metric::psnr, 9, 0.001).value, 30, 1e-12);  // 10 log10(1 / 0.001)
  EXPECT_EQ(measure(Metric::rmse, 9, 0.25).value, 0.5);
}

TEST(Metric, KnowsWhichValueIsBetter) {
  EXPECT_TRUE(better(Metric::accuracy, 0.9, 0.8));
  EXPECT_TRUE(better(Metric::psnr, 25, 24));
  EXPECT_TRUE(better(Metric::perplexity, 4, 5));
  EXPECT_TRUE(better(Metric::rmse, 0.1, 0.2));
  for (Metric metric : {Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse}) {
    EXPECT_FALSE(better(metric, 1, 1));
    EXPECT_FALSE(better(metric, std::nan(""), 1));
    EXPECT_FALSE(better(metric, std::nan(""), std::nan("")));
    EXPECT_TRUE(better(metric, 1e9, std::nan("")));  // the first number after a NaN
  }
}

TEST(Metric, HasALongAndAShortText) {
  EXPECT_EQ(metric_text({Metric::accuracy, -std::numeric_limits<double>::quiet_NaN()}), "nan%");
  EXPECT_EQ(metric_text({Metric::accuracy, 0.92942}), "92.94%");
  EXPECT_EQ(short_text({Metric::accuracy, 0.92942}), "92.9%");
  EXPECT_EQ(metric_text({Metric::psnr, 24.318}), "24.32 dB");
  EXPECT_EQ(metric_text({Metric::perplexity, 4.5321}), "4.532");
  EXPECT_EQ(metric_text({Metric::rmse, 0.12345}), "0.1235");
  EXPECT_EQ(name(Metric::perplexity), "perplexity");
  EXPECT_EQ(short_name(Metric::perplexity), "ppl");
}

}  // namespace
}  // namespace spire
