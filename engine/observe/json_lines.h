// A file of lines to which a run appends while it trains, such as metrics.jsonl, and readers of
// such files of any length.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/read_file.h"
#include "engine/base/write_file.h"

namespace spire {

// A line that cannot be written is left out as a whole. `warn` is called at the first such line,
// and with the number of lost lines when writing works again. If the file is removed during the
// run, it is written again with all its lines, unless another file has its name by then.
class LineFile {
 public:
  using Warn = std::function<void(std::string_view)>;
  LineFile(std::filesystem::path path, Warn warn);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Makes the file, or replaces it, with these lines in it, and opens it. Throws Error(config).
  void begin(std::string_view lines) { open(lines, Existing::replace); }
  void append(std::string_view lines);  // each ends in a newline; does nothing before begin()
  std::string lost() const;             // Observer::lost()

 private:
  void open(std::string_view kept, Existing existing);  // writes `kept` and opens the file
  bool put_back();
  void failed(std::string_view what);

  const std::filesystem::path path_;
  const Warn warn_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;    // of the whole lines in the file
  int64_t missing_ = 0;  // lines lost since the last good write
  int64_t lost_ = 0;     // lines lost before that
};

// Calls take(line) for each line that ends in a newline, then torn(line) for what follows the last
// newline; passes lines without the newline, and skips empty ones. A line of several MiB may lack
// its middle: lines of a run have less than 2 KB. Throws what RegularFile::read() throws.
void for_each_line(const RegularFile& file, const std::function<void(std::string_view)>& take,
                   const std::function<void(std::string_view)>& torn);

// Reads the lines of metrics.jsonl, and in them the numbers that a run has computed.

struct MetricsLine {
  enum class Kind { train, val, test };
  Kind kind = Kind::train;
  int64_t step = 0;
  // In the order of the line: "epoch", "samples_seen", "train/loss", "val/f1_macro". NaN where the
  // line has null. Without numbers that were measured, such as times and speeds.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::string parameter_hash = {}, chain = {};  // empty: none

  std::optional<double> number(std::string_view tag) const;  // none where the line lacks it
};

// Returns the lines in the order of the file, also several of one step. Leaves out a torn last line
// and lines of devices and checkpoints; returns none if there is no file. Throws what RegularFile
// throws.
std::vector<MetricsLine> read_metrics_lines(const std::filesystem::path& path);

// Numbers of one step, as far as its line has them.
struct StepRecord {
  std::optional<double> loss, grad_norm;  // NaN where the line says null: the number was not finite
  std::string parameter_hash = {}, chain = {};  // empty: none

  bool operator==(const StepRecord&) const = default;
};

// Returns the records of the file, which may have any length, by step; of two lines of a step the
// later one counts. Leaves out a torn last line, lines that are no records of steps, and values of
// a wrong type. Throws Error(config) if there is no such file.
std::map<int64_t, StepRecord> read_step_records(const std::filesystem::path& path);

}  // namespace spire
