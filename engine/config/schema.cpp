#include "engine/config/schema.h"

#include <algorithm>

#include "engine/config/schema_parts.h"

namespace spire::inline config {

namespace {

std::vector<Field> all_fields() {
  using namespace schema_parts;
  std::vector<Field> fields;
  for (auto part : {model_fields, data_fields, augment_fields, file_fields, loss_fields, run_fields,
                    device_fields, optimizer_fields, ema_fields, loss_scale_fields, schedule_fields,
                    course_fields, record_fields}) {
    std::ranges::copy(part(), std::back_inserter(fields));
  }
  return fields;
}

}  // namespace

const std::vector<Field>& schema() {
  static const std::vector<Field> fields = all_fields();
  return fields;
}

}  // namespace spire::inline config
