#include "autograd/node.h"

#include <vector>

#include "tensor/memory.h"

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
}

void destroy_node(Node* node) { node->destroy(); }

void Node::release() {
  if (!references.decrement()) return;
  // A chain of a million nodes must not recurse a million deep: the first node to die
  // destroys those that its death frees one after the other.
  static thread_local std::vector<Node*>* dying = nullptr;
  if (dying) {
    dying->push_back(this);
    return;
  }
  std::vector<Node*> queue;
  dying = &queue;
  destroy_node(this);
  while (!queue.empty()) {
    Node* next = queue.back();
    queue.pop_back();
    destroy_node(next);
  }
  dying = nullptr;
}

}  // namespace relume
