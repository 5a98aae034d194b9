#include "converters/t7/decoder.h"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "converters/t7/byte_order.h"
#include "converters/t7/format_error.h"

namespace relume::t7 {
namespace {

constexpr size_t kLongestNumber = 400;  // characters; "%g" of any double is far shorter
constexpr int kLastTag = kClosure;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// "1.#INF", "-1.#IND", "1.#QNAN": what Microsoft's C library printed.
bool parse_microsoft(std::string_view text, double& value) {
  const size_t mark = text.find(".#");
  if (mark == std::string_view::npos) return false;
  const bool negative = text[0] == '-';
  const std::string_view name = text.substr(mark + 2);
  if (name.substr(0, 3) == "INF") {
    value = negative ? -INFINITY : INFINITY;
    return true;
  }
  value = NAN;
  return name.substr(0, 3) == "IND" || name.substr(1, 3) == "NAN";
}

double parse_slowly(std::string_view text, bool& complete) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);
  char* end = nullptr;
  const double value = strtod_l(copy.c_str(), &end, c_locale);
  complete = end == copy.c_str() + copy.size();
  return value;
}

bool parse(std::string_view text, double& value) {
  if (parse_microsoft(text, value)) return true;
  bool complete = false;
#if defined(__cpp_lib_to_chars)
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size()) return true;
#endif
  value = parse_slowly(text, complete);  // also overflow, underflow, a leading plus
  return complete;
}

template <class Integer>
bool parse(std::string_view text, Integer& value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parse(std::string_view text, float& value) {
  double wide;
  if (!parse(text, wide)) return false;
  value = static_cast<float>(wide);
  return true;
}
bool parse(std::string_view text, Half& value) {
  double wide;
  if (!parse(text, wide)) return false;
  value = Half(static_cast<float>(wide));
  return true;
}

// Text from the file, fit for a message.
std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 24)) result += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 24 ? result + "..." : result;
}

}  // namespace

std::optional<Form> detect_form(Source& source) {
  Form form;
  std::string_view head = source.peek(64);
  // ASCII: a tag, then the end of its line.
  if (head.size() >= 2 && head[0] >= '0' && head[0] <= '0' + kLastTag &&
      (head[1] == '\n' || (head[1] == '\r' && head.size() >= 3 && head[2] == '\n'))) {
    form.encoding = Encoding::ascii;
    return form;
  }
  // Binary: the tag is a 4-byte integer. Nil (0) looks the same in either order, so the
  // first tag that is not nil decides.
  if (head.size() < 4) return std::nullopt;
  for (bool first = true; head.size() >= 4; first = false, head.remove_prefix(4)) {
    const unsigned char low = static_cast<unsigned char>(head[0]);
    const unsigned char high = static_cast<unsigned char>(head[3]);
    const bool is_tag = head[1] == 0 && head[2] == 0 && (low == 0 || high == 0) && low + high <= kLastTag;
    if (!is_tag) return first ? std::nullopt : std::optional<Form>(form);
    form.big_endian = high != 0;
    if (low != 0 || high != 0) break;
  }
  return form;
}

bool Decoder::at_end() {
  if (form_.encoding == Encoding::ascii) {
    while (!source_.peek(1).empty() && is_space(source_.peek(1)[0])) source_.advance(1);
  }
  return source_.remaining() == 0;
}

template <class T>
T Decoder::read_binary(const char* what) {
  const std::string_view bytes = source_.peek(sizeof(T));
  if (bytes.size() < sizeof(T)) {
    fail("truncated", source_.size(), "the file ends inside ", what, ": ", sizeof(T),
         " bytes are needed, ", bytes.size(), " are left");
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  source_.advance(sizeof(T));
  return form_.big_endian == host_is_big_endian() ? value : swapped(value);
}

std::string_view Decoder::token(const char* what) {
  std::string_view text = source_.peek(kLongestNumber);
  size_t start = 0;
  while (true) {
    while (start < text.size() && is_space(text[start])) ++start;
    if (start < text.size() || text.empty()) break;
    source_.advance(text.size());
    text = source_.peek(kLongestNumber);
    start = 0;
  }
  if (text.empty()) fail("truncated", source_.size(), "the file ends where ", what, " should be");
  source_.advance(start);
  text = source_.peek(kLongestNumber);
  size_t length = 0;
  while (length < text.size() && length < kLongestNumber && !is_space(text[length])) ++length;
  return text.substr(0, length);
}

// The character after a number or a block of characters belongs to it when it ends the line.
void Decoder::skip_line_end() {
  const std::string_view next = source_.peek(2);
  if (!next.empty() && next[0] == '\n') source_.advance(1);
  if (next.size() == 2 && next[0] == '\r' && next[1] == '\n') source_.advance(2);
}

template <class T>
T Decoder::read_token(const char* what) {
  const std::string_view text = token(what);
  T value{};
  if (!parse(text, value)) {
    fail("damaged", offset(), "expected ", what, ", found '", printable(text), "'");
  }
  source_.advance(text.size());
  return value;
}

int32_t Decoder::read_int() {
  if (form_.encoding == Encoding::binary) return read_binary<int32_t>("an integer");
  const int32_t value = read_token<int32_t>("an integer");
  skip_line_end();
  return value;
}

int64_t Decoder::read_long() {
  met_long_ = true;
  if (form_.encoding == Encoding::binary) {
    return form_.long_size == 8 ? read_binary<int64_t>("a long integer")
                                : read_binary<int32_t>("a long integer");
  }
  const int64_t value = read_token<int64_t>("a long integer");
  skip_line_end();
  return value;
}

double Decoder::read_double() {
  if (form_.encoding == Encoding::binary) return read_binary<double>("a number");
  const double value = read_token<double>("a number");
  skip_line_end();
  return value;
}

int32_t Decoder::read_count(const char* what, int64_t smallest) {
  const int64_t at = offset();
  const int32_t count = read_int();
  if (count < 0) fail("damaged", at, "the size of ", what, " is negative: ", count);
  if (count * smallest > source_.remaining() + slack()) {
    fail("truncated", at, "the size of ", what, " is ", count, ", but only ", source_.remaining(),
         " bytes are left in the file");
  }
  return count;
}

int64_t Decoder::read_long_count(const char* what, int64_t smallest) {
  const int64_t at = offset();
  const int64_t count = read_long();
  if (count < 0) fail("damaged", at, "the size of ", what, " is negative: ", count);
  if (count > source_.remaining() || count * smallest > source_.remaining() + slack()) {
    fail("truncated", at, "the size of ", what, " is ", count, ", but only ", source_.remaining(),
         " bytes are left in the file");
  }
  return count;
}

std::string_view Decoder::read_chars(int64_t count, const char* what) {
  if (count > source_.remaining()) {
    fail("truncated", source_.size(), "the file ends inside ", what, " of ", count, " bytes: ",
         source_.remaining(), " are left");
  }
  const size_t length = static_cast<size_t>(count);
  std::string_view text;
  if (length + 2 <= Source::kWindow) {
    // Two more, so that the line end is in the window and the text stays valid.
    text = source_.peek(length + 2).substr(0, length);
    source_.advance(length);
  } else {
    long_text_.resize(length);
    source_.read(&long_text_[0], length);
    text = long_text_;
  }
  if (form_.encoding == Encoding::ascii && length > 0) skip_line_end();
  return text;
}

void Decoder::check_elements(DType dtype, int64_t count) {
  const int64_t left = source_.remaining();
  if (count < 0) fail("damaged", offset(), "the size of a storage is negative: ", count);
  int64_t most;
  if (item_size(dtype) == 1) {
    most = left;
  } else if (form_.encoding == Encoding::ascii) {
    most = (left + 1) / 2;  // one digit and what separates it from the next
  } else {
    most = left / (dtype == DType::int64 ? form_.long_size : static_cast<int64_t>(item_size(dtype)));
  }
  if (count > most) {
    fail("truncated", offset(), "a storage of ", count, " ", name(dtype), " elements starts here, but only ",
         left, " bytes are left in the file");
  }
}

void Decoder::read_elements(void* target, DType dtype, int64_t count) {
  if (count == 0) return;
  if (form_.encoding == Encoding::ascii) return read_ascii_elements(target, dtype, count);
  read_binary_elements(target, dtype, count);
}

void Decoder::read_binary_elements(void* target, DType dtype, int64_t count) {
  const bool narrow_longs = dtype == DType::int64 && form_.long_size == 4;
  const size_t stored = narrow_longs ? 4 : item_size(dtype);
  if (dtype == DType::int64) met_long_ = true;
  if (!target) return source_.skip(count * static_cast<int64_t>(stored));
  // 4-byte longs go to the upper half first, then are widened from the front.
  char* place = static_cast<char*>(target) + (narrow_longs ? static_cast<size_t>(count) * 4 : 0);
  source_.read(place, static_cast<size_t>(count) * stored);
  if (form_.big_endian != host_is_big_endian()) swap_elements(place, stored, count);
  if (!narrow_longs) return;
  for (int64_t i = 0; i < count; ++i) {
    int32_t value;
    std::memcpy(&value, place + i * 4, 4);
    const int64_t wide = value;
    std::memcpy(static_cast<char*>(target) + i * 8, &wide, 8);
  }
}

void Decoder::read_ascii_elements(void* target, DType dtype, int64_t count) {
  if (item_size(dtype) == 1) {  // characters, not numbers
    if (target) {
      source_.read(target, static_cast<size_t>(count));
    } else {
      source_.skip(count);
    }
    return skip_line_end();
  }
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, BFloat16>) {
      return;  // Torch7 has no such storages
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const T value = read_token<T>("a number");
        if (target) static_cast<T*>(target)[i] = value;
      }
    }
  });
  skip_line_end();
}

}  // namespace relume::t7
