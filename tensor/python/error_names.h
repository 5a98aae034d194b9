// The names of functions in Python errors.
#pragma once
#include <string_view>

namespace relume {

// Of the Python error that is set: a message that begins with the name of an op, or of no function,
// gets the name that was called. With an empty name the op's is taken away.
void name_called_function(std::string_view called);

}  // namespace relume
