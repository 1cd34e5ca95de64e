// Small datasets of every format, for what all formats must do alike: 12 samples for training and 6
// for testing, a third of either of each class, in the order of the classes.
#pragma once
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "engine/data/text/token_dataset.h"
#include "tests/data/formats/cifar_files.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/formats/tar_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/data/numpy/zip_files.h"
#include "tests/data/text/shard_files.h"

namespace spire {

inline constexpr int64_t train_samples = 12, test_samples = 6;

enum FormatTraits : unsigned {
  kept_open = 1,     // files are kept open, or
  opened_again = 2,  // opened again for each read; neither: read when the dataset is opened
  spoils = 4,        // single samples can be unreadable
  shows_cuts = 8,    // no part of a file is taken for a whole one
  lists_files = 16,  // the files are those that lie in a folder
};

struct Format {
  const char* name;
  // Writes the files to a folder and returns the config that opens them. Sample `spoilt` of the
  // training data cannot be read; -1: all can.
  std::function<DataConfig(const std::filesystem::path& at, int64_t spoilt)> make;
  const char* files;  // in which training samples lie, by their class and number
  unsigned traits;
  const char* inputs = nullptr;  // to predict for the test samples; null: they cannot be named

  friend void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }
  bool is(FormatTraits trait) const { return (traits & trait) != 0; }
  std::string file(int64_t sample) const {
    return fmt::format(fmt::runtime(files), sample / 4, sample);
  }
};

struct FormatPart {
  std::string name;
  int64_t samples;

  int32_t label(int64_t sample) const { return static_cast<int32_t>(3 * sample / samples); }
  std::vector<int32_t> labels() const {
    std::vector<int32_t> all;
    for (int64_t i = 0; i < samples; ++i) all.push_back(label(i));
    return all;
  }
  // Two features a sample, that of the spoilt one no number.
  std::vector<float> features(int64_t spoilt) const {
    std::vector<float> all;
    for (int64_t i = 0; i < samples; ++i) {
      float x = static_cast<float>(i) + (name == "train" ? 0.5f : 0.25f);
      all.insert(all.end(), {i == spoilt ? std::nanf("") : x, x * x});
    }
    return all;
  }
};
inline const std::vector<FormatPart> format_parts = {{"train", train_samples},
                                                     {"test", test_samples}};

inline DataConfig make_idx(bool packed, const std::filesystem::path& at, int64_t) {
  for (const FormatPart& part : format_parts) {
    std::vector<int32_t> labels = part.labels();
    auto count = static_cast<uint32_t>(part.samples);
    std::string name = part.name == "train" ? "train" : "t10k";
    Bytes images = idx_bytes(0x803, {count, 4, 4}, pattern(16 * count));
    write_file(at / (name + "-images-idx3-ubyte"), packed ? gzip(images) : images);
    write_file(at / (name + "-labels-idx1-ubyte"),
               idx_bytes(0x801, {count}, {labels.begin(), labels.end()}));
  }
  return data_at("idx", at);
}

inline DataConfig make_cifar10(const std::filesystem::path& at, int64_t) {
  auto records = [](const FormatPart& part, int64_t begin, int64_t end) {
    std::vector<Bytes> labels;
    for (int64_t i = begin; i < end; ++i) labels.push_back({static_cast<uint8_t>(part.label(i))});
    return cifar_bytes(labels);
  };
  for (int64_t i = 0; i < 5; ++i)
    write_file(at / fmt::format("data_batch_{}.bin", i + 1),
               records(format_parts[0], i, i < 4 ? i + 1 : train_samples));
  write_file(at / "test_batch.bin", records(format_parts[1], 0, test_samples));
  return data_at("cifar10", at);
}

inline DataConfig make_csv(const std::filesystem::path& at, int64_t) {
  for (const FormatPart& part : format_parts) {
    std::vector<float> features = part.features(-1);
    std::string text = "a,b,kind\n";
    for (int64_t i = 0; i < part.samples; ++i)
      text += fmt::format("{},{},class {}\n", features[static_cast<size_t>(2 * i)],
                          features[static_cast<size_t>(2 * i + 1)], part.label(i));
    write_text(at / (part.name + ".csv"), text);
  }
  return data_at("csv", at);
}

// The arrays of both parts, as files or as an archive.
inline std::vector<ZipMember> format_arrays(int64_t spoilt, bool deflated = false) {
  std::vector<ZipMember> members;
  for (const FormatPart& part : format_parts) {
    std::vector<float> features = part.features(part.name == "train" ? spoilt : -1);
    members.push_back({fmt::format("x_{}.npy", part.name),
                       npy_bytes("<f4", fmt::format("({}, 2)", part.samples), features), deflated});
    members.push_back({fmt::format("y_{}.npy", part.name),
                       npy_bytes("<i4", fmt::format("({},)", part.samples), part.labels()),
                       deflated});
  }
  return members;
}
inline DataConfig make_npy(const std::filesystem::path& at, int64_t spoilt) {
  for (const ZipMember& member : format_arrays(spoilt)) write_file(at / member.name, member.bytes);
  return data_at("npy", at);
}
inline DataConfig make_npz(bool deflated, const std::filesystem::path& at, int64_t spoilt) {
  write_zip(at / "a.npz", format_arrays(spoilt, deflated));
  return data_at("npy", at / "a.npz");
}

inline DataConfig make_hdf5(hsize_t chunk, unsigned gzip, const std::filesystem::path& at,
                            int64_t spoilt) {
  Hdf5File file(at / "a.h5");
  for (const FormatPart& part : format_parts) {
    auto rows = static_cast<hsize_t>(part.samples);
    file.put(part.name + "/features", {rows, 2}, part.features(part.name == "train" ? spoilt : -1),
             chunk, gzip);
    file.put(part.name + "/labels", {rows}, part.labels(), chunk, gzip);
  }
  DataConfig config = data_at("hdf5", at / "a.h5");
  config.shuffle = chunk == 0 ? DataConfig::Shuffle::full : DataConfig::Shuffle::chunk;
  return config;
}

inline Bytes format_image(const FormatPart& part, int64_t sample, int64_t spoilt) {
  bool is_spoilt = part.name == "train" && sample == spoilt;
  return is_spoilt ? Bytes{1, 2, 3} : png_bytes(smooth_image(9, 9, sample));
}
inline DataConfig of_image_size(DataConfig config) {
  config.image.size = 8;
  return config;
}
inline DataConfig make_image_folder(const std::filesystem::path& at, int64_t spoilt) {
  for (const FormatPart& part : format_parts)
    for (int64_t i = 0; i < part.samples; ++i) {
      auto folder = at / part.name / std::to_string(part.label(i));
      std::filesystem::create_directories(folder);
      write_file(folder / fmt::format("{:02}.png", i), format_image(part, i, spoilt));
    }
  return of_image_size(data_at("image_folder", at));
}
inline DataConfig make_image_pairs(const std::filesystem::path& at, int64_t spoilt) {
  for (const FormatPart& part : format_parts)
    for (const char* half : {"input", "target"}) {
      std::filesystem::create_directories(at / part.name / half);
      for (int64_t i = 0; i < part.samples; ++i)
        write_file(at / part.name / half / fmt::format("{:02}.png", i),
                   format_image(part, i, half[0] == 't' ? spoilt : -1));
    }
  DataConfig config = of_image_size(data_at("image_pairs", at));
  config.normalize = DataConfig::Normalize::unit;  // as targets have it that are stored with images
  return config;
}
inline DataConfig make_webdataset(const std::filesystem::path& at, int64_t spoilt) {
  for (const FormatPart& part : format_parts) {
    std::vector<Bytes> members;
    for (int64_t i = 0; i < part.samples; ++i) {
      members.push_back(tar_member(fmt::format("{:02}.png", i), format_image(part, i, spoilt)));
      members.push_back(tar_text(fmt::format("{:02}.cls", i), std::to_string(part.label(i))));
    }
    write_file(at / (part.name + "-0.tar"), tar_of(members));
  }
  return of_image_size(data_at("webdataset", at));
}

inline DataConfig make_tokens(int64_t vocabulary, const std::filesystem::path& at, int64_t) {
  constexpr int64_t length = 8;
  for (const char* split : {"train", "val"})
    write_token_shard(at / token_shard_name(split, 0),
                      counted((train_samples + 1) * length + 1, 0, 90), vocabulary);
  DataConfig config = data_at("tokens", at);
  config.tokens.length = length;
  return config;
}
inline DataConfig make_text(const std::string& name, const std::string& before,
                            const std::string& behind, const std::filesystem::path& at, int64_t) {
  std::string text;
  for (int64_t i = 0; i < 40; ++i) text += fmt::format("{}text {}{}", before, i, behind);
  write_text(at / name, text);
  DataConfig config = data_at("tokens", at);
  config.path = "auto";
  config.tokens.text = {(at / name).string()};
  config.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  config.tokens.length = 8;
  config.tokens.val_share = 0.3;
  return config;
}

inline std::vector<Format> every_format() {
  using std::bind_front;
  constexpr unsigned rows = kept_open | spoils | shows_cuts,
                     images = opened_again | spoils | lists_files;
  constexpr const char *idx_file = "train-images-idx3-ubyte",
                       *idx_inputs = "t10k-images-idx3-ubyte";
  return {
      {"Idx", bind_front(make_idx, false), idx_file, shows_cuts, idx_inputs},
      {"IdxGzip", bind_front(make_idx, true), idx_file, shows_cuts, idx_inputs},
      {"Cifar10", make_cifar10, "data_batch_5.bin", 0},
      {"Csv", make_csv, "train.csv", 0, "test.csv"},
      {"Npy", make_npy, "x_train.npy", rows, "x_test.npy"},
      {"Npz", bind_front(make_npz, false), "a.npz", rows},
      {"NpzDeflated", bind_front(make_npz, true), "a.npz", rows},
      {"Hdf5Rows", bind_front(make_hdf5, 0, 0), "a.h5", rows, "a.h5"},
      {"Hdf5Chunks", bind_front(make_hdf5, 4, 0), "a.h5", rows, "a.h5"},
      {"Hdf5Gzip", bind_front(make_hdf5, 4, 6), "a.h5", rows, "a.h5"},
      {"ImageFolder", make_image_folder, "train/{}/{:02}.png", images, "test"},
      {"ImagePairs", make_image_pairs, "train/target/{1:02}.png", images, "test/input"},
      {"WebDataset", make_webdataset, "train-0.tar", images},
      {"Tokens16", bind_front(make_tokens, 100), "train_0000.tokens", kept_open | shows_cuts},
      {"Tokens32", bind_front(make_tokens, 1 << 17), "train_0000.tokens", kept_open | shows_cuts},
      {"Text", bind_front(make_text, "t.txt", "", "\n"), "t.txt", 0},
      {"Jsonl", bind_front(make_text, "t.jsonl", "{\"text\": \"", "\"}\n"), "t.jsonl", 0},
  };
}

}  // namespace spire
