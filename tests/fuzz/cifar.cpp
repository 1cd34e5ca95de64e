// Fuzz target of CIFAR files: one file, read as CIFAR-10 and as CIFAR-100.
#include "engine/data/formats/labelled_files.h"
#include "tests/data/formats/cifar_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

int read(const std::filesystem::path& path, const CifarLabels& labels) {
  return parse_or_refuse(Category::data, [&] {
    LabelledImages images = read_cifar(std::vector{path}, labels);
    auto count = static_cast<size_t>(images.count);
    require(count >= 1 && images.labels.size() == count && images.pixels.size() == count * 3072,
            "{} images of {} pixels and {} labels", count, images.pixels.size(),
            images.labels.size());
    for (int32_t label : images.labels)
      require(label >= 0 && label < images.classes, "label {} of {}", label, images.classes);
  });
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  int ten = read(file.path(), {{10}, 0});
  int fine = read(file.path(), {{20, 100}, 1});
  return ten == accepted || fine == accepted ? accepted : refused;
}

std::vector<Bytes> seeds() {
  return {cifar_bytes({{0}}), gzip(cifar_bytes({{7}, {9}})), gzip(cifar_bytes({{19, 99}}))};
}

}  // namespace spire::fuzz
