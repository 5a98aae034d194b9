#include "autograd/node.h"

#include <thread>

#include "autograd/node_extras.h"
#include "tensor/memory.h"
#include "tensor/thread_state.h"

namespace relume {

void* Node::operator new(std::size_t size) { return allocate_memory(size); }
void Node::operator delete(void* pointer, std::size_t size) { free_memory(pointer, size); }

void release_edge(Edge& edge) {
  if (edge.node) edge.node->release();
  if (edge.leaf) edge.leaf->release();
  edge.node = nullptr;
  edge.leaf = nullptr;
}

Node::~Node() {
  for (int i = 0; i < edge_count; ++i) release_edge(edges[i]);
  delete find_extras();
}

NodeExtras& Node::extras() {
  if (NodeExtras* found = find_extras()) return *found;
  auto* made = new NodeExtras;
  NodeExtras* other = nullptr;
  if (extras_.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return *made;
  delete made;  // another thread was faster
  return *other;
}

NodeLock::NodeLock(Node* node) : node_(node), owns_(true) {
  void* self = &thread_state();
  void* holder = nullptr;
  while (!node->user_.compare_exchange_weak(holder, self, std::memory_order_acquire)) {
    if (holder == self) {
      owns_ = false;
      return;
    }
    holder = nullptr;
    std::this_thread::yield();
  }
}

void destroy_node(Node* node) { node->destroy(); }

void Node::release() {
  if (!references.decrement()) return;
  // A chain of a million nodes must not recurse a million deep: the first node to die
  // destroys those that its death frees one after the other. They wait in a list through
  // `run_state`, since nobody runs them any more: freeing must not allocate.
  static thread_local Node* waiting = nullptr;
  static thread_local bool destroying = false;
  run_state = waiting;
  waiting = this;
  if (destroying) return;
  destroying = true;
  while (Node* next = waiting) {
    waiting = static_cast<Node*>(next->run_state);
    destroy_node(next);
  }
  destroying = false;
}

void set_node(TensorBody* body, Node* node, uint32_t output_index) {
  node->retain();
  if (TensorHooks* hooks = body->hooks; hooks && hooks->retains_gradient()) {
    if (body->grad_fn) body->grad_fn->extras().remove_retaining(hooks);
    node->extras().add_retaining(output_index, hooks);
  }
  if (body->grad_fn) body->grad_fn->release();
  body->grad_fn = node;
  body->output_index = output_index;
  body->requires_grad = true;
}

Tensor output_of(const Tensor& value, Node* node, uint32_t output_index) {
  Tensor output = alias(value);
  node->retain();
  output->grad_fn = node;
  output->output_index = output_index;
  output->requires_grad = true;
  return output;
}

}  // namespace relume
