// Counters in memory that several Lua states share; LuaJIT has no atomic operations of its own.
#include "tensor/c_abi.h"

RELUME_API int64_t relume_atomic_add(int64_t* counter, int64_t amount) {
  return __atomic_fetch_add(counter, amount, __ATOMIC_SEQ_CST);
}

RELUME_API void relume_atomic_set(int64_t* counter, int64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_SEQ_CST);
}
