// Numbers of a machine with the other byte order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace relume::t7 {

inline bool host_is_big_endian() {
  const uint16_t one = 1;
  unsigned char first;
  std::memcpy(&first, &one, 1);
  return first == 0;
}

template <class T>
T swapped(T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  std::reverse(bytes, bytes + sizeof(T));
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void swap_all(void* data, int64_t count) {
  T* values = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i) values[i] = swapped(values[i]);
}

inline void swap_elements(void* data, size_t size, int64_t count) {
  if (size == 2) swap_all<uint16_t>(data, count);
  if (size == 4) swap_all<uint32_t>(data, count);
  if (size == 8) swap_all<uint64_t>(data, count);
}

}  // namespace relume::t7
