// The tape: one node per recorded op. A node holds what its derivative needs and edges
// to the nodes that made its inputs.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "tensor/dispatch.h"

namespace relume {

struct NodeExtras;  // autograd/node_extras.h

// Where a gradient goes: to an output of another node, or into `grad` of a leaf.
struct Edge {
  Node* node = nullptr;        // owned
  TensorBody* leaf = nullptr;  // owned; both null where no gradient is wanted
  uint32_t output_index = 0;   // which output of `node` the gradient belongs to

  bool wanted() const { return node || leaf; }
};

// What a gradient must look like.
struct TensorShape {
  DType dtype = DType::float32;
  Device device;
  bool contiguous = true;
  int ndim = 0;
  const int64_t* sizes = nullptr;  // belongs to the node
  int64_t offset = 0;              // in its storage, for as_strided

  IntSpan shape() const { return {sizes, ndim}; }
};

struct Node {
  RefCount references;
  int edge_count = 0;
  int output_count = 1;
  Edge* edges = nullptr;  // memory of the subclass; released by ~Node

  // The engine run that owns the field below; null when free. A node that two runs
  // want at once (threads, backward within backward) is looked up in a table instead.
  std::atomic<void*> run{nullptr};
  void* run_state = nullptr;

  virtual ~Node();
  virtual const char* name() const = 0;
  // Gradients of the outputs (some undefined) to gradients of the inputs, one per edge;
  // only those with `wanted[i]` are needed.
  virtual void apply(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) = 0;
  // Drops saved tensors after backward; a second backward is then an error.
  virtual void release_saved() {}

  // Hooks and other things that few nodes have; null when this one has none.
  NodeExtras* find_extras() const { return extras_.load(std::memory_order_acquire); }
  NodeExtras& extras();  // made when there are none

  void retain() { references.increment(); }
  void release();

  static void* operator new(std::size_t size);
  static void operator delete(void* pointer, std::size_t size);

 protected:
  virtual void destroy() { delete this; }
  friend void destroy_node(Node* node);

 private:
  friend class NodeLock;
  std::atomic<NodeExtras*> extras_{nullptr};
  std::atomic<void*> user_{nullptr};  // the thread that is inside of apply or release_saved
};

// Held while a node's saved tensors are read or dropped: two threads may go back through
// the same node at once. A thread that holds it already (backward within the node's own
// backward) passes.
class NodeLock {
 public:
  explicit NodeLock(Node* node);
  ~NodeLock() {
    if (owns_) node_->user_.store(nullptr, std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  Node* node_;
  bool owns_;
};

// The edge that a gradient of this tensor follows. A view whose base was changed in
// place gets a new place on the tape here.
Edge gradient_edge(TensorBody* body);
// Releases what an edge owns.
void release_edge(Edge& edge);
// Makes a tensor output `output_index` of a node. What the tensor retains, it retains from there.
void set_node(TensorBody* body, Node* node, uint32_t output_index);
// Another tensor on the same memory, where output `output_index` of a node stands on the tape.
Tensor output_of(const Tensor& value, Node* node, uint32_t output_index);

}  // namespace relume
