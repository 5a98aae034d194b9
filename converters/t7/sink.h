// Where the bytes of a file go: a small buffer for the structure, large blocks directly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace relume::t7 {

class Sink {
 public:
  Sink() : buffer_(new char[kBuffer]) {}
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(const void* data, size_t count);
  // Hands on what is still in the buffer; nothing is handed on when a sink is destroyed.
  void flush();
  // Bytes written so far, those in the buffer too.
  int64_t written() const { return handed_on_ + static_cast<int64_t>(used_); }

 protected:
  // Takes all of the bytes, or throws.
  virtual void put(const char* data, size_t count) = 0;

 private:
  static constexpr size_t kBuffer = 256 * 1024;

  void hand_on(const char* data, size_t count);

  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  int64_t handed_on_ = 0;
};

}  // namespace relume::t7
