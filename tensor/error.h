// Errors that reach the user. Each kind becomes the Python exception of the same
// meaning and an error message on the Lua side.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace relume {

class Error : public std::runtime_error {  // RuntimeError
 public:
  using std::runtime_error::runtime_error;
};
class ValueError : public Error {
 public:
  using Error::Error;
};
class TypeError : public Error {
 public:
  using Error::Error;
};
class IndexError : public Error {
 public:
  using Error::Error;
};
class NotImplementedError : public Error {
 public:
  using Error::Error;
};

// Builds a message from its parts: throw ValueError(message("expected ", n, " values")).
template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <class Kind = ValueError, class... Parts>
inline void check(bool condition, const Parts&... parts) {
  if (!condition) throw Kind(message(parts...));
}

}  // namespace relume
