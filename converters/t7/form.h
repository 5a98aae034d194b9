// The forms in which Torch7 wrote its files.
#pragma once
#include <cstdint>

namespace relume::t7 {

enum class Encoding : uint8_t { binary, ascii };

struct Form {
  Encoding encoding = Encoding::binary;
  int long_size = 8;  // bytes of a C long where the file was written: 8 or 4
  bool big_endian = false;

  bool operator==(const Form& other) const {
    return encoding == other.encoding && long_size == other.long_size &&
           big_endian == other.big_endian;
  }
};

// The types of objects, as they stand before each of them.
enum Tag : int32_t {
  kNil = 0,
  kNumber = 1,
  kString = 2,
  kTable = 3,
  kTorch = 4,
  kBoolean = 5,
  kFunction = 6,           // without an index, upvalues as bare values
  kRecursiveFunction = 7,  // with an index
  kClosure = 8,            // upvalues with names and identities
};

}  // namespace relume::t7
