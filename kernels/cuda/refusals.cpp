#include "kernels/cuda/refusals.h"

#include <spire/error.h>

namespace spire {

void refuse_sort(int64_t positions, int64_t ids) {
  fail(Category::unexpected, "{} positions of {} ids are too many to sort", positions, ids);
}

void refuse_heads(const Op& op, int64_t columns, int64_t most) {
  fail(Category::config, "[{}] heads of {} columns: on a GPU they have at most {}", op.name(),
       columns, most);
}

void refuse_length(const Op& op, const Shape& qkv) {
  fail(Category::config, "[{}] {} is too long for a GPU", op.name(), to_string(qkv));
}

void refuse_cached_heads(int64_t columns, int64_t most) {
  fail(Category::device,
       "[cached_attention] heads of {} columns have no kernel on a GPU; use at most {}", columns,
       most);
}

}  // namespace spire
