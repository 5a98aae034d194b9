// The bytes of a file: a small window for the structure, direct reads for large blocks.
//
// A file is read with `pread`, never mapped: a file that shrinks while it is read then
// gives an error instead of a crash, and a large storage is in memory once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace relume::t7 {

class Source {
 public:
  // Bytes that stay valid as long as the source.
  explicit Source(std::string_view bytes);
  // An open regular file; the descriptor is borrowed.
  Source(int descriptor, int64_t size);

  int64_t size() const { return size_; }
  int64_t offset() const { return window_offset_ + (cursor_ - window_); }
  int64_t remaining() const { return size_ - offset(); }
  void seek(int64_t offset);

  // The bytes from here on: at least `count` of them, fewer only where the file ends.
  // Valid until the next call. `count` must not exceed kWindow.
  std::string_view peek(size_t count) {
    if (static_cast<size_t>(end_ - cursor_) < count) fill(count);
    return {cursor_, static_cast<size_t>(end_ - cursor_)};
  }
  // Steps over bytes that were peeked at.
  void advance(size_t count) { cursor_ += count; }
  // Steps over any number of bytes.
  void skip(int64_t count) { seek(offset() + count); }
  // Copies the next `count` bytes, which must exist, and steps over them.
  void read(void* target, size_t count);

  // Blocks of at least that many bytes stay in the file from now on: `read` only notes them.
  struct Block {
    const void* target;
    int64_t offset;
    size_t size;
  };
  void leave_blocks(size_t at_least) { smallest_left_ = at_least; }
  const std::vector<Block>& left_blocks() const { return left_blocks_; }

  static constexpr size_t kWindow = 256 * 1024;

 private:
  void fill(size_t count);
  void read_at(int64_t offset, char* target, size_t count) const;

  int descriptor_ = -1;
  int64_t size_ = 0;
  int64_t window_offset_ = 0;  // of the window's first byte in the file
  const char* window_ = nullptr;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  size_t smallest_left_ = SIZE_MAX;
  std::vector<Block> left_blocks_;
};

}  // namespace relume::t7
