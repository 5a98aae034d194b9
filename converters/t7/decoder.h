// The primitive values of a Torch7 file, in each of the forms that Torch7 wrote.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "converters/t7/form.h"
#include "converters/t7/source.h"
#include "tensor/dtype.h"

namespace relume::t7 {

// The form that the first bytes suggest, with 8-byte longs (they do not tell); nothing
// where they cannot be the start of a Torch7 file.
std::optional<Form> detect_form(Source& source);

// Reads values one after the other. Every read throws FormatError instead of going past
// the end, and announced sizes are compared with what is left before memory is taken.
class Decoder {
 public:
  Decoder(Source& source, const Form& form) : source_(source), form_(form) {}

  Source& source() { return source_; }
  const Form& form() const { return form_; }
  int64_t offset() const { return source_.offset(); }
  bool at_end();  // nothing is left, or only white space of an ASCII file
  bool met_long() const { return met_long_; }

  int32_t read_int();
  int64_t read_long();
  double read_double();
  // A length that the file announces, for items of at least `smallest` bytes each.
  int32_t read_count(const char* what, int64_t smallest = 1);
  int64_t read_long_count(const char* what, int64_t smallest = 1);
  // `count` raw bytes, valid until the next read.
  std::string_view read_chars(int64_t count, const char* what);

  // Throws when the rest of the file is too short for `count` elements.
  void check_elements(DType dtype, int64_t count);
  // Fills `target` with checked elements; steps over them when it is null.
  void read_elements(void* target, DType dtype, int64_t count);

  // The fewest bytes that an entry of a table, or one value, takes in this form.
  int64_t smallest_entry() const { return form_.encoding == Encoding::binary ? 12 : 5; }
  int64_t smallest_value() const { return form_.encoding == Encoding::binary ? 4 : 1; }

 private:
  template <class T>
  T read_binary(const char* what);
  template <class T>
  T read_token(const char* what);
  std::string_view token(const char* what);
  void skip_line_end();
  // In ASCII the last line end may be missing.
  int64_t slack() const { return form_.encoding == Encoding::ascii ? 1 : 0; }
  void read_binary_elements(void* target, DType dtype, int64_t count);
  void read_ascii_elements(void* target, DType dtype, int64_t count);

  Source& source_;
  Form form_;
  bool met_long_ = false;
  std::string long_text_;  // strings longer than the source's window
};

}  // namespace relume::t7
