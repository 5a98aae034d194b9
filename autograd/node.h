// The tape: one node per recorded op. A node holds what its derivative needs and edges
// to the nodes that made its inputs.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "tensor/dispatch.h"

namespace relume {

struct Derivative;
class Backward;

struct Edge {
  Node* node = nullptr;        // owned; null where no gradient is wanted
  uint32_t output_index = 0;   // which output of `node` the gradient belongs to
};

struct Node {
  RefCount references;
  uint64_t sequence = 0;  // grows with every node of a thread: a valid order is descending

  virtual ~Node();
  // Gradients of the outputs (some undefined) -> gradients of the inputs, one per edge.
  virtual void apply(const Tensor* output_gradients, Tensor* input_gradients) = 0;
  virtual void release_saved() {}
  virtual const char* name() const = 0;
  virtual int output_count() const { return 1; }
  // Shape and type of an output, for the gradient that nobody gave (zeros).

  int edge_count = 0;
  Edge* edges = nullptr;  // storage belongs to the subclass

  // The engine run that is using the two fields below; null when free.
  std::atomic<void*> run{nullptr};
  void* run_data = nullptr;

  void retain() { references.increment(); }
  void release();
};

}  // namespace relume
