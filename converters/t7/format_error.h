// What is wrong with a file, where it is, and inside which object.
#pragma once
#include <cstdint>
#include <string>

#include "tensor/error.h"

namespace relume::t7 {

class FormatError : public ValueError {
 public:
  FormatError(std::string kind, int64_t offset, const std::string& text)
      : ValueError(text), kind(std::move(kind)), offset(offset) {}

  std::string kind;  // "truncated", "damaged" or "unsupported"
  int64_t offset;    // of the byte where reading stopped making sense
  std::string path;  // "root.modules[3].weight"; filled in by the reader
};

template <class... Parts>
[[noreturn]] void fail(const char* kind, int64_t offset, const Parts&... parts) {
  throw FormatError(kind, offset, message(parts...));
}

}  // namespace relume::t7
