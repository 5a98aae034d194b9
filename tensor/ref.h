// Intrusive, atomic reference counts. Tensors are shared by Python, Lua and C++
// threads at once, and Lua runs without Python's lock, so every count is atomic.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace relume {

class RefCount {
 public:
  void increment() { count_.fetch_add(1, std::memory_order_relaxed); }

  // Returns true when this was the last reference. The sole owner needs no
  // read-modify-write: nobody else can be holding a reference to copy.
  bool decrement() {
    if (count_.load(std::memory_order_acquire) == 1) return true;
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  bool unique() const { return count_.load(std::memory_order_acquire) == 1; }
  int32_t value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int32_t> count_{1};
};

// Owning pointer to an object with `retain()` and `release()`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : pointer_(other.pointer_) {
    if (pointer_) pointer_->retain();
  }
  Ref(Ref&& other) noexcept : pointer_(other.pointer_) { other.pointer_ = nullptr; }
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_) pointer_->release();
  }

  // Takes over a reference that the caller owns.
  static Ref steal(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }
  // Adds a reference to an object that somebody else owns.
  static Ref borrow(T* pointer) {
    if (pointer) pointer->retain();
    return steal(pointer);
  }
  // Gives the reference away; the caller owns it now.
  T* detach() {
    T* pointer = pointer_;
    pointer_ = nullptr;
    return pointer;
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }
  bool operator!=(const Ref& other) const { return pointer_ != other.pointer_; }

 private:
  T* pointer_ = nullptr;
};

}  // namespace relume
