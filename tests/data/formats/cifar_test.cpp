// CIFAR files: pixels, labels, names, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/data/formats/labelled_files.h"
#include "tests/data/formats/cifar_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Cifar, PlanesBecomePixels) {
  Folder folder;
  write_file(folder / "a.bin", cifar_bytes({{3}, {9}}));
  LabelledImages images =
      read_cifar(std::vector<std::filesystem::path>{folder / "a.bin"}, {{10}, 0});
  EXPECT_THAT(images.labels, ElementsAre(3, 9));
  EXPECT_EQ(images.count, 2);
  EXPECT_EQ(images.image_shape(), Shape({32, 32, 3}));
  ASSERT_EQ(images.pixels.size(), 2u * 3072);
  for (size_t r = 0; r < 2; ++r)
    for (size_t y = 0; y < 32; ++y)
      for (size_t x = 0; x < 32; ++x)
        for (size_t c = 0; c < 3; ++c)
          ASSERT_EQ(images.pixels[((r * 32 + y) * 32 + x) * 3 + c],
                    static_cast<uint8_t>(r + 40 * c + 7 * y + x));
}

TEST(Cifar10, JoinsItsFilesInOrder) {
  Folder folder;
  write_cifar10(folder.path());
  write_text(folder / "batches.meta.txt",
             "airplane\nautomobile\nbird\ncat\ndeer\r\ndog\nfrog\nhorse\nship\ntruck\n\n");
  DatasetPair pair = open("cifar10", folder.path());
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1, 2, 3, 4, 5}),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {0}), ElementsAre(9));
  const SampleSpec& spec = pair.test->spec();
  EXPECT_EQ(spec.classes, 10);
  ASSERT_THAT(spec.class_names, SizeIs(10));
  EXPECT_EQ(spec.class_names[4], "deer");
  // Pixel (0, 0, 1) of an image is its index in the file + 40.
  auto images = read_column<float>(*pair.train, 0, {4, 5});
  double mean = spec.normalization.mean[1], stddev = spec.normalization.stddev[1];
  EXPECT_EQ(images[1], static_cast<float>((40 / 255.0 - mean) / stddev));
  EXPECT_EQ(images[3072 + 1], static_cast<float>((41 / 255.0 - mean) / stddev));
}

TEST(Cifar10, FilesMayBeGzipAndNamesMayBeMissing) {
  Folder folder;
  write_cifar10(folder.path());
  std::filesystem::remove(folder / "data_batch_2.bin");
  write_file(folder / "data_batch_2.bin.gz", gzip(cifar_bytes({{8}, {7}})));
  DatasetPair pair = open("cifar10", folder.path());
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1, 2, 3}), ElementsAre(0, 8, 7, 2));
  EXPECT_THAT(pair.train->spec().class_names, IsEmpty());
}

TEST(Cifar100, HasFineAndCoarseLabels) {
  Folder folder;
  write_cifar100(folder.path());
  DatasetPair fine = open("cifar100", folder.path());
  EXPECT_EQ(fine.train->spec().classes, 100);
  EXPECT_THAT(read_column<int32_t>(*fine.train, 1, {0, 1}), ElementsAre(99, 41));
  DataConfig config = data_at("cifar100", folder.path());
  config.cifar100.labels = Cifar100Config::Labels::coarse;
  DatasetPair coarse = open_dataset(config, {});
  EXPECT_EQ(coarse.train->spec().classes, 20);
  EXPECT_THAT(read_column<int32_t>(*coarse.train, 1, {0, 1}), ElementsAre(19, 3));
}

TEST(Cifar, AutoSearchesTheFolderOfSpireData) {
  Folder folder;
  write_cifar10(folder / "cifar-10-batches-bin");
  write_cifar100(folder / "cifar-100-binary");
  ASSERT_EQ(setenv("SPIRE_DATA", folder.path().c_str(), 1), 0);
  EXPECT_EQ(open("cifar10", "auto").train->count(), 6);
  EXPECT_EQ(open("cifar100", "auto").train->count(), 2);
  ASSERT_EQ(setenv("SPIRE_DATA", (folder / "none").c_str(), 1), 0);
  std::string message = open_refusal(data_at("cifar100", "auto"));
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
  EXPECT_THAT(message, HasSubstr((folder / "none" / "cifar-100-binary").string()));
  EXPECT_THAT(message, HasSubstr("cs.toronto.edu"));
}

struct DamagedCifar {
  const char* dataset;
  const char* file;
  Bytes bytes;
  testing::Matcher<std::string> says;
};

Bytes cut(Bytes bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

const std::vector<DamagedCifar> damaged_files = {
    {"cifar10", "data_batch_3.bin", Bytes(), HasAll("contains no records")},
    {"cifar10", "data_batch_5.bin", cut(cifar_bytes({{1}, {2}}), 3073 + 100),
     HasAll("ends at byte 3173", "within record 1 of 3073 bytes", "intact copy")},
    {"cifar10", "test_batch.bin", cifar_bytes({{9}, {10}}),
     HasAll("byte 3073", "label 10 of record 1", "0 to 9")},
    {"cifar100", "train.bin", cifar_bytes({{0, 100}}),
     HasAll("byte 1", "label 100 of record 0", "0 to 99")},
    {"cifar100", "test.bin", cifar_bytes({{19, 0}, {20, 0}}),
     HasAll("byte 3074", "label 20 of record 1", "0 to 19")},
    {"cifar100", "test.bin", cifar_bytes({{9}, {9}}),
     HasAll("record 1 of 3074 bytes", "data.name")},
    {"cifar10", "batches.meta.txt", Bytes{'c', 'a', 't', '\n'}, HasAll("1 names for 10 classes")},
};

TEST(Cifar, DamagedFilesAreRefusedWithTheirMessage) {
  for (const DamagedCifar& one : damaged_files) {
    Folder folder;
    write_cifar10(folder.path());
    write_cifar100(folder.path());
    write_file(folder / one.file, one.bytes);
    EXPECT_THAT(open_refusal(data_at(one.dataset, folder.path())),
                AllOf(HasSubstr((folder / one.file).string()), one.says));
  }
}

}  // namespace
}  // namespace spire
