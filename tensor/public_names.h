// What users call an op by that other code of relume calls.
#pragma once
#include <string>

namespace relume {

struct Op;

// The name for messages: "linalg.inv" for the op linalg_inv_ex, that of the op for most.
const std::string& public_name(const Op& op);

}  // namespace relume
