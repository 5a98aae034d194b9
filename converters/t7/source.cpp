#include "converters/t7/source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "converters/t7/format_error.h"

namespace relume::t7 {

Source::Source(std::string_view bytes)
    : size_(static_cast<int64_t>(bytes.size())),
      window_(bytes.data()),
      cursor_(bytes.data()),
      end_(bytes.data() + bytes.size()) {}

Source::Source(int descriptor, int64_t size)
    : descriptor_(descriptor), size_(size), buffer_(new char[kWindow]) {
  window_ = cursor_ = end_ = buffer_.get();
}

void Source::seek(int64_t offset) {
  if (offset >= window_offset_ && offset <= window_offset_ + (end_ - window_)) {
    cursor_ = window_ + (offset - window_offset_);
    return;
  }
  window_offset_ = offset;
  cursor_ = end_ = window_;
}

void Source::fill(size_t count) {
  if (descriptor_ < 0) return;  // memory: everything is in the window already
  const int64_t start = offset();
  const size_t kept = static_cast<size_t>(end_ - cursor_);
  const int64_t rest = size_ - start - static_cast<int64_t>(kept);
  if (rest <= 0) return;  // leave the window alone: views of it stay valid at the end
  const size_t more = static_cast<size_t>(std::min<int64_t>(rest, static_cast<int64_t>(kWindow - kept)));
  std::memmove(buffer_.get(), cursor_, kept);
  window_offset_ = start;
  cursor_ = window_;
  end_ = window_ + kept;
  read_at(start + static_cast<int64_t>(kept), buffer_.get() + kept, more);
  end_ += more;
}

void Source::read(void* target, size_t count) {
  if (count >= smallest_left_) {
    left_blocks_.push_back({target, offset(), count});
    return skip(static_cast<int64_t>(count));
  }
  const size_t buffered = std::min(count, static_cast<size_t>(end_ - cursor_));
  std::memcpy(target, cursor_, buffered);
  cursor_ += buffered;
  if (buffered == count) return;
  const int64_t start = offset();
  read_at(start, static_cast<char*>(target) + buffered, count - buffered);
  seek(start + static_cast<int64_t>(count - buffered));
}

void Source::read_at(int64_t offset, char* target, size_t count) const {
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, target, std::min(count, kMostAtOnce), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("damaged", offset, "the file cannot be read here: ", std::strerror(errno));
    if (got == 0) fail("truncated", offset, "the file became shorter while it was read");
    target += got;
    offset += got;
    count -= static_cast<size_t>(got);
  }
}

}  // namespace relume::t7
