// Memory for the time of one computation.
#pragma once
#include <cstdint>

#include "tensor/memory.h"

namespace relume {

template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(count > 0 ? static_cast<T*>(allocate_memory(bytes_)) : nullptr) {}
  ~Buffer() {
    if (data_) free_memory(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

}  // namespace relume
