// Choices among engines: the cache file's, a checkpoint's. With an odd first byte the header with
// the right checksum is put before the lines: else hardly any input would get past it.
#include "kernels/cuda/tuning.h"

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {
namespace {

std::string with_head(std::string_view lines) {
  return fmt::format("spire tuning 1 {}\n{}", hex(hash64(lines.data(), lines.size())), lines);
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  if (size == 0) return refused;
  std::string text(data + 1, data + size);
  if (data[0] % 2 == 1) text = with_head(text);
  TuningChoices choices;
  int verdict = parse_or_refuse(
      Category::config, [&] { choices = TuningChoices::from_text(text, Category::config); });
  if (verdict == accepted &&
      TuningChoices::from_text(choices.to_text(), Category::config) != choices)
    fail(Category::unexpected, "choices read back as others");
  return verdict;
}

std::vector<Bytes> seeds() {
  TuningChoices choices;
  std::vector<Bytes> seeds = {bytes_of(fmt::format("0{}", choices.to_text()))};
  choices.set("NVIDIA H100, convolution forward bf16", "engine 67 2=1 13=0");
  choices.set("NVIDIA H100, convolution forward fp32", "engine 0");
  std::string text = choices.to_text();
  seeds.push_back(bytes_of(fmt::format("0{}", text)));
  seeds.push_back(bytes_of(fmt::format("1{}", text.substr(text.find('\n') + 1))));
  seeds.push_back(bytes_of("1a\tb\na\tc\n"));
  return seeds;
}

}  // namespace spire::fuzz
