#include "converters/t7/sink.h"

#include <cstring>

namespace relume::t7 {

void Sink::write(const void* data, size_t count) {
  if (count > kBuffer - used_) flush();
  if (count >= kBuffer) return hand_on(static_cast<const char*>(data), count);
  if (count == 0) return;
  std::memcpy(buffer_.get() + used_, data, count);
  used_ += count;
}

void Sink::flush() {
  const size_t count = used_;
  used_ = 0;
  if (count > 0) hand_on(buffer_.get(), count);
}

void Sink::hand_on(const char* data, size_t count) {
  put(data, count);
  handed_on_ += static_cast<int64_t>(count);
}

}  // namespace relume::t7
