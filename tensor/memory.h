// Host memory: small blocks from per-thread free lists, large blocks cached and
// huge-page advised (a fresh 40 MB malloc costs more than the addition that fills it).
#pragma once
#include <cstddef>

namespace relume {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeepsBlocks = false;  // so that the sanitizer sees each use of a block after its end
#else
constexpr bool kKeepsBlocks = true;
#endif

// 64-byte aligned; throws std::bad_alloc. `free_memory` needs the same size.
void* allocate_memory(std::size_t bytes);
void free_memory(void* pointer, std::size_t bytes);

// Gives cached blocks back to the system (also done before giving up on an allocation).
void release_cached_memory();
std::size_t cached_memory_bytes();

}  // namespace relume
