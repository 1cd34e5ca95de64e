#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/float16.h>
#include <fmt/ranges.h>
#include <parquet/arrow/reader.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/input_file.h"
#include "engine/data/tables/record_reader.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using BatchPointer = std::shared_ptr<arrow::RecordBatch>;

// Record batches of a file of any of the formats, in order.
class ArrowBatches {
 public:
  // column: the only one to read, if there is one of that name; empty: all.
  explicit ArrowBatches(const fs::path& path, std::string column = "")
      : path_(path),
        column_(std::move(column)),
        file_(path, Category::data),
        stamp_(stamp_of(file_.descriptor(), path)) {
    if (path.extension() == ".gz")
      fail(Category::data, "{}: is compressed as a whole; unpack it with gunzip", path.string());
    guarded([&] { open(); });
  }

  const arrow::Schema& schema() const { return *schema_; }

  BatchPointer next() {  // null: the end
    BatchPointer batch;
    guarded([&] {
      batch = next_();
      if (batch) require_ok(batch->ValidateFull());  // offsets and indices of a damaged file
    });
    require_unchanged(path_, stamp_, stamp_of(file_.descriptor(), path_));
    return batch;
  }

 private:
  class Unsupported : public std::runtime_error {
    using runtime_error::runtime_error;
  };

  static void require_ok(const arrow::Status& status) {
    if (status.ok()) return;
    if (status.IsOutOfMemory()) throw std::bad_alloc();
    if (status.IsNotImplemented()) throw Unsupported(status.message());
    throw std::runtime_error(status.message());
  }

  template <typename T>
  static T taken(arrow::Result<T> result) {
    require_ok(result.status());
    return std::move(result).ValueUnsafe();
  }

  // Arrow reports damage by its status, by exceptions of Parquet, and by those of the library.
  template <typename Call>
  void guarded(Call call) const {
    try {
      call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const Unsupported& error) {
      fail(Category::data,
           "{}: Apache Arrow cannot read it: {}; write it with another compression or format",
           path_.string(), error.what());
    } catch (const std::exception& error) {
      require_unchanged(path_, stamp_, stamp_of(file_.descriptor(), path_));
      fail(Category::data, "{}: Apache Arrow cannot read it: {}; get an intact copy",
           path_.string(), error.what());
    }
  }

  void open() {
    std::array<char, 6> magic{};
    file_.read_at(0, std::as_writable_bytes(std::span(magic)));
    std::string_view begin(magic.data(), magic.size());
    auto file = taken(arrow::io::ReadableFile::Open(path_.string()));
    if (path_.extension() == ".parquet") return open_parquet(std::move(file));
    if (begin == "ARROW1") return open_pages(file);
    if (begin.starts_with("FEA1")) throw Unsupported("it is of Feather's version 1");
    open_stream(taken(arrow::ipc::RecordBatchStreamReader::Open(file)));
  }

  void open_parquet(std::shared_ptr<arrow::io::RandomAccessFile> file) {
    parquet::ArrowReaderProperties properties;
    properties.set_pre_buffer(false);  // which would keep all of the file in memory
    parquet::arrow::FileReaderBuilder builder;
    require_ok(builder.Open(std::move(file)));
    parquet_ = taken(builder.properties(properties)->Build());
    const auto& metadata = *parquet_->parquet_reader()->metadata();
    std::vector<int> groups(static_cast<size_t>(metadata.num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    int only = column_.empty() ? -1 : metadata.schema()->ColumnIndex(column_);
    if (only >= 0) return open_stream(taken(parquet_->GetRecordBatchReader(groups, {only})));
    open_stream(taken(parquet_->GetRecordBatchReader(groups)));
  }

  void open_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    auto pages = taken(arrow::ipc::RecordBatchFileReader::Open(file, options));
    int only = column_.empty() ? -1 : pages->schema()->GetFieldIndex(column_);
    if (only >= 0) {
      options.included_fields = {only};
      pages = taken(arrow::ipc::RecordBatchFileReader::Open(file, options));
    }
    schema_ = pages->schema();
    next_ = [pages = std::move(pages), at = 0]() mutable -> BatchPointer {
      return at < pages->num_record_batches() ? taken(pages->ReadRecordBatch(at++)) : nullptr;
    };
  }

  void open_stream(std::shared_ptr<arrow::RecordBatchReader> stream) {
    schema_ = stream->schema();
    next_ = [stream = std::move(stream)] { return taken(stream->Next()); };
  }

  fs::path path_;
  std::string column_;
  RegularFile file_;  // for its stamp alone
  FileStamp stamp_;
  std::unique_ptr<parquet::arrow::FileReader> parquet_;  // outlives its stream
  std::shared_ptr<arrow::Schema> schema_;
  std::function<BatchPointer()> next_;
};

// NaN is a blank, with whatever sign.
template <typename Array>
std::string number_text(const arrow::Array& array, int64_t row) {
  auto value = static_cast<const Array&>(array).Value(row);
  return value == value ? fmt::format("{}", value) : "";
}

template <typename Array>
std::string word_of(const arrow::Array& array, int64_t row) {
  return std::string(static_cast<const Array&>(array).GetView(row));
}

std::string field_text(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "";
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case arrow::Type::INT8:
      return number_text<arrow::Int8Array>(array, row);
    case arrow::Type::INT16:
      return number_text<arrow::Int16Array>(array, row);
    case arrow::Type::INT32:
      return number_text<arrow::Int32Array>(array, row);
    case arrow::Type::INT64:
      return number_text<arrow::Int64Array>(array, row);
    case arrow::Type::UINT8:
      return number_text<arrow::UInt8Array>(array, row);
    case arrow::Type::UINT16:
      return number_text<arrow::UInt16Array>(array, row);
    case arrow::Type::UINT32:
      return number_text<arrow::UInt32Array>(array, row);
    case arrow::Type::UINT64:
      return number_text<arrow::UInt64Array>(array, row);
    case arrow::Type::HALF_FLOAT: {
      uint16_t bits = static_cast<const arrow::HalfFloatArray&>(array).Value(row);
      float value = arrow::util::Float16::FromBits(bits).ToFloat();
      return std::isnan(value) ? "" : fmt::format("{}", value);
    }
    case arrow::Type::FLOAT:
      return number_text<arrow::FloatArray>(array, row);
    case arrow::Type::DOUBLE:
      return number_text<arrow::DoubleArray>(array, row);
    case arrow::Type::STRING:
      return word_of<arrow::StringArray>(array, row);
    case arrow::Type::LARGE_STRING:
      return word_of<arrow::LargeStringArray>(array, row);
    case arrow::Type::STRING_VIEW:
      return word_of<arrow::StringViewArray>(array, row);
    case arrow::Type::DICTIONARY: {
      const auto& words = static_cast<const arrow::DictionaryArray&>(array);
      return field_text(*words.dictionary(), words.GetValueIndex(row));
    }
    default: {  // dates, decimals, and what is no field of a table, such as a list
      auto value = array.GetScalar(row);
      require(value.ok(), "a value of Arrow: {}", value.status().ToString());
      return (*value)->ToString();
    }
  }
}

bool is_text(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY)
    return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return arrow::is_base_binary_like(type.id()) || type.id() == arrow::Type::STRING_VIEW;
}

// Bytes count as a text: older writers do not mark their texts as UTF-8.
std::string document_text(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "";
  if (array.type_id() == arrow::Type::BINARY) return word_of<arrow::BinaryArray>(array, row);
  if (array.type_id() == arrow::Type::LARGE_BINARY)
    return word_of<arrow::LargeBinaryArray>(array, row);
  return field_text(array, row);
}

class ArrowRecords final : public RecordReader {
 public:
  explicit ArrowRecords(const fs::path& path) : batches_(path) {}

  bool next(CsvRecord& record) override {
    record.names = row_ == 0;
    record.problem.clear();
    record.fields.resize(static_cast<size_t>(batches_.schema().num_fields()));
    if (!record.names && !find_row()) return false;
    for (size_t c = 0; c < record.fields.size(); ++c) {
      auto column = static_cast<int>(c);
      record.fields[c] = {record.names ? batches_.schema().field(column)->name()
                                       : field_text(*batch_->column(column), in_batch_),
                          {row_, static_cast<int64_t>(c) + 1}};
    }
    if (!record.names) ++in_batch_;
    ++row_;
    return true;
  }

 private:
  bool find_row() {
    while (batch_ == nullptr || in_batch_ == batch_->num_rows()) {
      batch_ = batches_.next();
      in_batch_ = 0;
      if (batch_ == nullptr) return false;
    }
    return true;
  }

  ArrowBatches batches_;
  BatchPointer batch_;
  int64_t in_batch_ = 0, row_ = 0;  // of the next record; row 0 are the names
};

}  // namespace

std::unique_ptr<RecordReader> open_arrow_records(const fs::path& path) {
  return std::make_unique<ArrowRecords>(path);
}

void for_each_arrow_text(const fs::path& path, const std::string& column, const UseArrowText& use) {
  ArrowBatches batches(path, column);
  int at = batches.schema().GetFieldIndex(column);
  if (at < 0)
    fail(Category::data,
         "{}: has no column '{}', but {}; set data.tokens.field to the column of the text",
         path.string(), column, quoted_list(batches.schema().field_names()));
  const arrow::DataType& type = *batches.schema().field(at)->type();
  if (!is_text(type))
    fail(Category::data,
         "{}: its column '{}' has values of type {}, not texts; set data.tokens.field to the "
         "column of the text",
         path.string(), column, type.ToString());
  int64_t row = 1;
  while (BatchPointer batch = batches.next())
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++row) {
      std::string text = document_text(*batch->column(at), i);
      if (!text.empty()) use(row, text);
    }
}

}  // namespace spire
