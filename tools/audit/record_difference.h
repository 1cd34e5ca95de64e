// Compares the record of a step with what a replay computes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/run/audit/audit_record.h"
#include "tools/compare/replay_pair.h"

namespace spire {

// Returns where a computed step differs from its record, in the order in which a step computes:
// samples, rate, losses of towers, gradient, weights. names: of the tensors that `weights` hash.
// confirmed: the step up to which the weights are known to be equal.
std::optional<TensorDifference> record_difference(const AuditRecord& recorded,
                                                  const AuditRecord& computed,
                                                  const std::vector<std::string>& names,
                                                  int64_t confirmed);

}  // namespace spire
