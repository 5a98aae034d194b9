#include "tensor/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "tensor/thread_state.h"

namespace relume {

namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallest = 64;          // free lists hold multiples of this
constexpr int kListCount = 16;                 // up to 1024 bytes
constexpr std::size_t kListBytes = std::size_t{16} << 20;  // kept per list and thread: Lua frees thousands at once
constexpr std::size_t kLarge = std::size_t{16} << 10;    // from here on blocks are cached: malloc is slow to align and join them
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}  // namespace

// Blocks of one thread, by size. A block freed by another thread joins that thread's list.
struct FreeLists {
  struct Block {
    Block* next;
  };
  Block* heads[kListCount] = {};
  int counts[kListCount] = {};

  ~FreeLists() {
    for (Block* block : heads) {
      while (block) {
        Block* next = block->next;
        std::free(block);
        block = next;
      }
    }
  }
};

namespace {

// Freed large blocks, reused by size. Bounded by an eighth of the machine's memory.
class LargeBlockCache {
 public:
  void* take(std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = blocks_.find(bytes);
    if (found == blocks_.end() || found->second.empty()) return nullptr;
    void* block = found->second.back();
    found->second.pop_back();
    total_ -= bytes;
    return block;
  }

  bool put(void* block, std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (total_ + bytes > limit_) return false;
    try {
      blocks_[bytes].push_back(block);
    } catch (const std::bad_alloc&) {  // who frees memory must not fail for want of it
      return false;
    }
    total_ += bytes;
    return true;
  }

  void clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [bytes, list] : blocks_) {
      for (void* block : list) std::free(block);
    }
    blocks_.clear();
    total_ = 0;
  }

  std::size_t total() {
    std::lock_guard<std::mutex> lock(mutex_);
    return total_;
  }

  std::size_t physical_memory() const { return physical_; }

  // A child process gets a cache that no other thread was in the middle of changing.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> blocks_;
  std::size_t total_ = 0;
  std::size_t physical_ =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t limit_ = physical_ / 8;
};

LargeBlockCache& large_blocks() {
  // Never destroyed: tensors may be freed after static destructors have run.
  static LargeBlockCache* cache = new LargeBlockCache;
  return *cache;
}

// Eight sizes per power of two, so that slightly different sizes share blocks.
std::size_t large_size(std::size_t bytes) {
  std::size_t step = kLarge / 8;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

void* system_allocate(std::size_t bytes, std::size_t alignment) {
  void* block = std::aligned_alloc(alignment, bytes);
  if (!block) {
    release_cached_memory();
    block = std::aligned_alloc(alignment, bytes);
  }
  if (!block) throw std::bad_alloc();
  return block;
}

// Not a byte more than asked for.
void* allocate_exactly(std::size_t bytes) {
  void* block = nullptr;
  if (bytes > large_blocks().physical_memory() || posix_memalign(&block, kAlignment, bytes) != 0 || !block) {
    throw std::bad_alloc();
  }
  return block;
}

void* allocate_large(std::size_t bytes) {
  LargeBlockCache& cache = large_blocks();
  // The system may promise memory that it does not have and kill the process on use.
  if (bytes > cache.physical_memory()) throw std::bad_alloc();
  const std::size_t rounded = large_size(bytes);
  if (void* block = cache.take(rounded)) return block;
  void* block = system_allocate(rounded, rounded >= 2 * kHugePage ? kHugePage : kAlignment);
#ifdef MADV_HUGEPAGE
  if (rounded >= 2 * kHugePage) madvise(block, rounded, MADV_HUGEPAGE);
#endif
  return block;
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  if (!kKeepsBlocks) return allocate_exactly(bytes);
  const std::size_t units = bytes ? (bytes + kSmallest - 1) / kSmallest : 1;
  if (units <= kListCount) {
    ThreadState& state = thread_state();
    FreeLists& lists = *state.free_lists;
    if (FreeLists::Block* block = lists.heads[units - 1]) {
      lists.heads[units - 1] = block->next;
      __builtin_prefetch(block->next, 1);
      --lists.counts[units - 1];
      return block;
    }
    return system_allocate(units * kSmallest, kAlignment);
  }
  if (bytes < kLarge) return system_allocate(units * kSmallest, kAlignment);
  return allocate_large(bytes);
}

void free_memory(void* pointer, std::size_t bytes) {
  if (!pointer) return;
  if (!kKeepsBlocks) {
    std::free(pointer);
    return;
  }
  const std::size_t units = bytes ? (bytes + kSmallest - 1) / kSmallest : 1;
  if (units <= kListCount) {
    FreeLists& lists = *thread_state().free_lists;
    if (lists.counts[units - 1] * units * kSmallest < kListBytes) {
      auto* block = static_cast<FreeLists::Block*>(pointer);
      block->next = lists.heads[units - 1];
      lists.heads[units - 1] = block;
      ++lists.counts[units - 1];
      return;
    }
  } else if (bytes >= kLarge) {
    if (large_blocks().put(pointer, large_size(bytes))) return;
  }
  std::free(pointer);
}

void release_cached_memory() { large_blocks().clear(); }
std::size_t cached_memory_bytes() { return large_blocks().total(); }

thread_local ThreadState* thread_state_pointer
    __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadState::~ThreadState() { delete free_lists; }

namespace {
// Owns the thread's state and frees it when the thread ends. Blocks freed even later
// (by destructors of other thread locals) go through a state that then leaks.
struct ThreadStateOwner {
  ~ThreadStateOwner() {
    delete thread_state_pointer;
    thread_state_pointer = nullptr;
  }
};
thread_local ThreadStateOwner owner;
}  // namespace

ThreadState& make_thread_state() {
  (void)&owner;  // constructs it, so that it is destroyed at thread exit
  auto* state = new ThreadState;
  state->free_lists = new FreeLists;
  thread_state_pointer = state;
  return *state;
}

}  // namespace relume
