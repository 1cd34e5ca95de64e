// Readers of the user's own files by kind, for open_inputs() (<spire/trained_model.h>).
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spire/trained_model.h>

namespace spire {

struct InputContext {
  SampleSpec spec;    // of the model
  DataConfig config;  // of its run
  InputReport report;
};

class FileReader {
 public:
  virtual ~FileReader() = default;

  // Opens a file, and closes the one before. Throws Error(data).
  virtual void open(const std::filesystem::path& path) = 0;
  // Writes the next row and returns its origin, without RowOrigin::file; nullopt: the file has
  // ended. After Error(data) for a row the next call reads the row after it, or the file has ended.
  virtual std::optional<RowOrigin> next(std::byte* row) = 0;
  // Returns whether the path of a file shows the class of its rows.
  virtual bool name_tells_truth(const std::filesystem::path&) const { return false; }
};

// Readers of .npy, .npz and HDF5 files, of images and IDX files, and of tables. The context
// outlives them. They throw Error(config) and Error(checkpoint) for a model that reads no such
// files.
std::unique_ptr<FileReader> array_reader(const InputContext& context);
std::unique_ptr<FileReader> image_reader(const InputContext& context);
std::unique_ptr<FileReader> table_reader(const InputContext& context);

// Whether a file is a .npy, .npz or HDF5 file, by its first bytes.
bool is_array_file(const std::filesystem::path& path);

// Returns the class of this name; nullopt if there is none. Numbers may be spelled otherwise: 1.0.
std::optional<int64_t> class_named(const SampleSpec& spec, const std::string& name);

}  // namespace spire
