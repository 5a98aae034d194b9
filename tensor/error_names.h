// Errors say which function they are of: "relu(): ...", "conv2d: ...".
#pragma once
#include <string_view>

#include "tensor/error.h"

namespace relume {

// The name of the function that a message begins with; empty when it begins with none.
std::string_view function_of_message(std::string_view message);

// Throws an error again, with the name of an op before a message that begins with none.
[[noreturn]] void throw_named(const Error& error, std::string_view op_name);

}  // namespace relume
