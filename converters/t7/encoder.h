// The primitive values of a Torch7 file, written in each of the forms that Torch7 reads.
#pragma once
#include <cstdint>
#include <string_view>

#include "converters/t7/form.h"
#include "converters/t7/sink.h"
#include "tensor/dtype.h"

namespace relume::t7 {

class Encoder {
 public:
  Encoder(Sink& sink, const Form& form);

  Sink& sink() { return sink_; }
  const Form& form() const { return form_; }

  void write_int(int32_t value);
  void write_double(double value);
  // C longs, on one line of an ASCII file. Throws ValueError for one that does not fit.
  void write_longs(const int64_t* values, int64_t count);
  void write_long(int64_t value) { write_longs(&value, 1); }
  // Raw bytes, whose count the reader knows.
  void write_chars(std::string_view bytes);
  // The count of bytes, then the bytes. Throws ValueError for more than an int can count.
  void write_counted_chars(std::string_view bytes);
  // The elements of a storage. bfloat16, which Torch7 does not have, is written as float32.
  void write_elements(const void* elements, DType dtype, int64_t count);

 private:
  template <class T>
  void write_binary(T value);
  template <class T>
  void write_token(T value, char separator);
  template <class Stored, class T>
  void write_converted(const T* elements, int64_t count);
  template <class T>
  void write_tokens(const T* elements, int64_t count);

  Sink& sink_;
  Form form_;
  bool must_swap_;
};

}  // namespace relume::t7
