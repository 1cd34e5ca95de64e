// Readers of the user's own files by kind, for open_inputs() (<spire/commands/input_rows.h>).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/commands/input_rows.h>

namespace spire::inline inference {

// Opens JPEG, PNG and IDX files for open_inputs(). Throws Error(config) unless C is 1 or 3.
std::unique_ptr<InputRows> open_image_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);
// Opens CSV files, for open_inputs().
std::unique_ptr<InputRows> open_table_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const CsvConfig& config, const InputReport& report);

// Opens .npy, .npz and HDF5 files, for open_inputs(). config: names their arrays.
std::unique_ptr<InputRows> open_array_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);

// Returns the class of this name; nullopt if there is none. Numbers may be spelled otherwise: 1.0.
std::optional<int64_t> class_named(const SampleSpec& spec, const std::string& name);

// Calls read(). If it throws Error(data), reports that as a problem and returns false.
bool try_reading(const InputReport& report, const std::function<void()>& read);

}  // namespace spire::inline inference
