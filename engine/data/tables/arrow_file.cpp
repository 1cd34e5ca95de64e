#include "engine/data/tables/arrow_file.h"

#include <optional>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/float16.h>
#include <fmt/ranges.h>
#include <parquet/arrow/reader.h>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/data/change_detection.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using BatchPointer = std::shared_ptr<arrow::RecordBatch>;

// Record batches of a file of any of the formats, in order.
class ArrowBatches {
 public:
  explicit ArrowBatches(const fs::path& path)
      : path_(path), file_(path, Category::data), stamp_(stamp_of(file_.descriptor(), path)) {
    guarded([&] { open(); });
  }

  const arrow::Schema& schema() const { return *schema_; }

  BatchPointer next() {  // null: the end
    BatchPointer batch;
    guarded([&] { batch = next_(); });
    require_unchanged(path_, stamp_, stamp_of(file_.descriptor(), path_));
    return batch;
  }

 private:
  template <typename T>
  static T taken(arrow::Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.status().message());
    return std::move(result).ValueUnsafe();
  }

  // Arrow reports damage by its status, by exceptions of Parquet, and by those of the library.
  template <typename Call>
  void guarded(Call call) const {
    try {
      call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(Category::data, "{}: Apache Arrow cannot read it: {}; get an intact copy",
           path_.string(), error.what());
    }
  }

  void open() {
    auto file = taken(arrow::io::ReadableFile::Open(path_.string()));
    if (path_.extension() == ".parquet") return open_parquet(file);
    auto pages = arrow::ipc::RecordBatchFileReader::Open(file);
    if (pages.ok()) return open_pages(std::move(pages).ValueUnsafe());
    file = taken(arrow::io::ReadableFile::Open(path_.string()));
    open_stream(taken(arrow::ipc::RecordBatchStreamReader::Open(file)));
  }

  void open_parquet(const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
    parquet_ = taken(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
    open_stream(taken(parquet_->GetRecordBatchReader()));
  }

  void open_pages(std::shared_ptr<arrow::ipc::RecordBatchFileReader> pages) {
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
  RegularFile file_;  // for its stamp alone
  FileStamp stamp_;
  std::unique_ptr<parquet::arrow::FileReader> parquet_;  // outlives its stream
  std::shared_ptr<arrow::Schema> schema_;
  std::function<BatchPointer()> next_;
};

template <typename Array>
std::string number_text(const arrow::Array& array, int64_t row) {
  return fmt::format("{}", static_cast<const Array&>(array).Value(row));
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
      return fmt::format("{}", arrow::util::Float16::FromBits(bits).ToFloat());
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
      return value.ok() ? (*value)->ToString() : value.status().ToString();
    }
  }
}

bool is_text(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY)
    return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
         type.id() == arrow::Type::STRING_VIEW;
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
  ArrowBatches batches(path);
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
      std::string text = field_text(*batch->column(at), i);
      if (!text.empty()) use(row, text);
    }
}

}  // namespace spire::inline data
