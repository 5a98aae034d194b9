#include "converters/t7/encoder.h"

#include <charconv>
#include <climits>
#include <cstring>
#include <type_traits>

#include "converters/t7/byte_order.h"
#include "tensor/error.h"

namespace relume::t7 {
namespace {

constexpr int64_t kChunk = 8192;      // elements that are converted at a time
constexpr size_t kLongestNumber = 32;  // characters of any number as printed here

// What C's printf gives for "%d", "%.9g" and "%.17g": digits enough to read it back exactly.
template <class T>
size_t print(T value, char* text) {
  char* end = text + kLongestNumber;
  if constexpr (std::is_integral_v<T>) {
    end = std::to_chars(text, end, value).ptr;
  } else {
    constexpr int digits = std::is_same_v<T, double> ? 17 : 9;
    end = std::to_chars(text, end, value, std::chars_format::general, digits).ptr;
  }
  return static_cast<size_t>(end - text);
}

// How an element is stored where it is not stored as it is.
float stored(float value) { return value; }
float stored(Half value) { return value; }
float stored(BFloat16 value) { return value; }
double stored(double value) { return value; }
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
T stored(T value) {
  return value;
}

void check_fits_in_4_bytes(int64_t value) {
  check<ValueError>(value >= INT32_MIN && value <= INT32_MAX, value,
                    " does not fit into a long of 4 bytes; write with long_size=8");
}

}  // namespace

Encoder::Encoder(Sink& sink, const Form& form)
    : sink_(sink), form_(form), must_swap_(form.big_endian != host_is_big_endian()) {}

template <class T>
void Encoder::write_binary(T value) {
  if (must_swap_) value = swapped(value);
  sink_.write(&value, sizeof(T));
}

template <class T>
void Encoder::write_token(T value, char separator) {
  char text[kLongestNumber + 1];
  const size_t length = print(value, text);
  text[length] = separator;
  sink_.write(text, length + 1);
}

void Encoder::write_int(int32_t value) {
  if (form_.encoding == Encoding::ascii) return write_token(value, '\n');
  write_binary(value);
}

void Encoder::write_double(double value) {
  if (form_.encoding == Encoding::ascii) return write_token(value, '\n');
  write_binary(value);
}

void Encoder::write_longs(const int64_t* values, int64_t count) {
  if (count > 0) write_elements(values, DType::int64, count);
}

void Encoder::write_chars(std::string_view bytes) {
  sink_.write(bytes.data(), bytes.size());
  if (form_.encoding == Encoding::ascii && !bytes.empty()) sink_.write("\n", 1);
}

void Encoder::write_counted_chars(std::string_view bytes) {
  check<ValueError>(bytes.size() <= INT32_MAX, "a string of ", bytes.size(), " bytes is too long: ", INT32_MAX,
                    " are the most that a Torch7 file can hold");
  write_int(static_cast<int32_t>(bytes.size()));
  write_chars(bytes);
}

template <class T>
void Encoder::write_tokens(const T* elements, int64_t count) {
  for (int64_t i = 0; i < count; ++i) write_token(stored(elements[i]), i + 1 < count ? ' ' : '\n');
}

// Element by element into a buffer: another type, another byte order, or both.
template <class Stored, class T>
void Encoder::write_converted(const T* elements, int64_t count) {
  Stored chunk[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t size = std::min(kChunk, count - done);
    for (int64_t i = 0; i < size; ++i) {
      if constexpr (std::is_same_v<Stored, int32_t> && std::is_same_v<T, int64_t>) {
        check_fits_in_4_bytes(elements[done + i]);
      }
      chunk[i] = static_cast<Stored>(elements[done + i]);
    }
    if (must_swap_) swap_elements(chunk, sizeof(Stored), size);
    sink_.write(chunk, static_cast<size_t>(size) * sizeof(Stored));
  }
}

void Encoder::write_elements(const void* elements, DType dtype, int64_t count) {
  const bool are_characters = item_size(dtype) == 1;
  if (are_characters) {
    return write_chars({static_cast<const char*>(elements), static_cast<size_t>(count)});
  }
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* values = static_cast<const T*>(elements);
    if constexpr (sizeof(T) == 1) {
      return;  // characters
    } else if (form_.encoding == Encoding::ascii) {
      write_tokens(values, count);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      write_converted<float>(values, count);
    } else if (std::is_same_v<T, int64_t> && form_.long_size == 4) {
      write_converted<int32_t>(values, count);
    } else if (must_swap_) {
      write_converted<T>(values, count);
    } else {
      sink_.write(values, static_cast<size_t>(count) * sizeof(T));
    }
  });
}

}  // namespace relume::t7
