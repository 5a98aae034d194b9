#include "autograd/engine.h"

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "autograd/derivative.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// What a run knows about one node.
struct NodeState {
  Node* node = nullptr;
  int waiting_for = 0;      // gradients that have yet to arrive from nodes of this run
  bool needed = true;       // does the way to a wanted input lead through this node?
  Tensor first;             // gradient of output 0
  std::vector<Tensor> more; // of the other outputs
  bool captured = false;    // is the gradient of one of its outputs asked for?

  Tensor& gradient(uint32_t output) { return output == 0 ? first : more[output - 1]; }
};

constexpr int kInlineEdges = 8;

class Run {
 public:
  Run(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, BackwardOptions options)
      : outputs_(outputs), inputs_(inputs), options_(options), results_(inputs.size()) {}
  ~Run() {
    for (NodeState& state : states_) release_state(state);
  }

  std::vector<Tensor> execute(const std::vector<Tensor>& output_gradients) {
    find_captures();
    std::vector<Edge> roots;
    for (const Tensor& output : outputs_) {
      roots.push_back(gradient_edge(output.body()));
      if (roots.back().node) discover(roots.back().node);
    }
    if (!inputs_.empty()) mark_needed();

    GradMode mode(options_.create_graph);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      deliver(roots[i], output_gradients[i]);
      if (roots[i].leaf) continue;
      roots_.push_back(state_of(roots[i].node));
    }
    for (Edge& edge : roots) release_edge(edge);
    // A root that another root depends on waits for its own gradients too.
    for (NodeState* state : roots_) {
      if (state->waiting_for == 0) push_ready(state);
    }
    while (!ready_.empty()) {
      NodeState* state = ready_.back();
      ready_.pop_back();
      process(*state);
    }
    return std::move(results_);
  }

 private:
  // ---- the states of nodes ----

  NodeState* state_of(Node* node) {
    if (node->run.load(std::memory_order_acquire) == this) return static_cast<NodeState*>(node->run_state);
    auto found = overflow_.find(node);
    return found == overflow_.end() ? nullptr : found->second;
  }

  NodeState* add_state(Node* node) {
    NodeState* state = &states_.emplace_back();
    node->retain();
    state->node = node;
    if (node->output_count > 1) state->more.resize(node->output_count - 1);
    void* free = nullptr;
    if (node->run.compare_exchange_strong(free, this, std::memory_order_acq_rel)) {
      node->run_state = state;
    } else {
      overflow_[node] = state;
    }
    return state;
  }

  void release_state(NodeState& state) {
    if (!state.node) return;
    if (state.node->run.load(std::memory_order_relaxed) == this) {
      state.node->run_state = nullptr;
      state.node->run.store(nullptr, std::memory_order_release);
    }
    state.node->release();
    state.node = nullptr;
  }

  // ---- before the run ----

  // Counts for every reachable node how many gradients it will get.
  void discover(Node* root) {
    if (state_of(root)) return;
    std::vector<Node*> stack{root};
    add_state(root);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (int i = 0; i < node->edge_count; ++i) {
        Node* next = node->edges[i].node;
        if (!next) continue;
        NodeState* state = state_of(next);
        if (!state) {
          state = add_state(next);
          stack.push_back(next);
        }
        ++state->waiting_for;
      }
    }
  }

  void find_captures() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      TensorBody* body = inputs_[i].body();
      Edge edge = gradient_edge(body);
      check<Error>(edge.wanted(), "grad(): input ", i, " does not require a gradient");
      if (edge.leaf) {
        leaf_captures_[edge.leaf].push_back(i);
      } else {
        node_captures_[edge.node].push_back({edge.output_index, i});
      }
      release_edge(edge);
    }
  }

  // Only nodes on a way to an input are run.
  void mark_needed() {
    // Nodes in an order in which every node comes after those that its edges lead to.
    std::vector<std::pair<NodeState*, int>> stack;
    std::unordered_map<Node*, bool> done;
    for (NodeState& root : states_) {
      if (done.count(root.node)) continue;
      stack.push_back({&root, 0});
      done[root.node] = false;
      while (!stack.empty()) {
        auto& [state, position] = stack.back();
        Node* node = state->node;
        if (position == 0) state->needed = state->captured = node_captures_.count(node) > 0;
        if (position == node->edge_count) {
          done[node] = true;
          const bool needed = state->needed;
          stack.pop_back();
          if (needed && !stack.empty()) stack.back().first->needed = true;
          continue;
        }
        const Edge& edge = node->edges[position++];
        if (edge.leaf && leaf_captures_.count(edge.leaf)) state->needed = true;
        if (!edge.node) continue;
        auto found = done.find(edge.node);
        if (found == done.end()) {
          done[edge.node] = false;
          stack.push_back({state_of(edge.node), 0});
        } else if (state_of(edge.node)->needed) {
          state->needed = true;
        }
      }
    }
  }

  // ---- during the run ----

  void push_ready(NodeState* state) {
    if (!state->node) return;
    ready_.push_back(state);
  }

  bool wanted(const Edge& edge) {
    if (inputs_.empty()) return edge.wanted();
    if (edge.leaf) return leaf_captures_.count(edge.leaf) > 0;
    return edge.node && state_of(edge.node)->needed;
  }

  void process(NodeState& state) {
    Node* node = state.node;
    if (!node) return;
    if (state.captured) {
      for (const auto& [output, index] : node_captures_[node]) results_[index] = state.gradient(output);
    }
    const int edge_count = node->edge_count;
    bool inline_wanted[kInlineEdges];
    Tensor inline_gradients[kInlineEdges];
    std::unique_ptr<bool[]> many_wanted;
    std::vector<Tensor> many_gradients;
    bool* wanted_edges = inline_wanted;
    Tensor* gradients = inline_gradients;
    if (edge_count > kInlineEdges) {
      many_wanted.reset(new bool[edge_count]);
      many_gradients.resize(edge_count);
      wanted_edges = many_wanted.get();
      gradients = many_gradients.data();
    }
    bool any = false;
    for (int i = 0; i < edge_count; ++i) any |= wanted_edges[i] = wanted(node->edges[i]);

    bool has_gradient = state.first.defined();
    for (const Tensor& gradient : state.more) has_gradient |= gradient.defined();
    if (any && has_gradient && state.needed) {
      if (state.more.empty()) {
        Tensor gradient = std::move(state.first);
        node->apply(&gradient, wanted_edges, gradients);
      } else {
        std::vector<Tensor> all{std::move(state.first)};
        for (Tensor& gradient : state.more) all.push_back(std::move(gradient));
        node->apply(all.data(), wanted_edges, gradients);
      }
      if (!options_.retain_graph) node->release_saved();
    }
    state.first = Tensor();
    state.more.clear();
    for (int i = 0; i < edge_count; ++i) {
      const Edge& edge = node->edges[i];
      if (wanted_edges[i] && gradients[i].defined()) deliver(edge, std::move(gradients[i]));
      if (!edge.node) continue;
      NodeState* next = state_of(edge.node);
      if (--next->waiting_for == 0) push_ready(next);
    }
    release_state(state);
  }

  // Adds a gradient to what has arrived at the other end of an edge.
  void deliver(const Edge& edge, Tensor gradient) {
    if (!edge.leaf) {
      accumulate(state_of(edge.node)->gradient(edge.output_index), std::move(gradient));
      return;
    }
    if (inputs_.empty()) {
      accumulate_leaf(edge.leaf, std::move(gradient));
      return;
    }
    auto found = leaf_captures_.find(edge.leaf);
    if (found == leaf_captures_.end()) return;
    for (std::size_t index : found->second) accumulate(results_[index], gradient);
  }

  // Adds in place when nobody else can see the sum.
  void accumulate(Tensor& sum, Tensor gradient) {
    if (!sum.defined()) {
      sum = std::move(gradient);
    } else if (!options_.create_graph && exclusive(sum)) {
      ops::add.in_place(sum, gradient);
    } else {
      sum = sum + gradient;
    }
  }

  static bool exclusive(const Tensor& tensor) {
    return tensor.unique() && tensor->storage->references.unique() && tensor.is_contiguous();
  }

  void accumulate_leaf(TensorBody* leaf, Tensor gradient) {
    static std::mutex mutexes[16];
    std::lock_guard<std::mutex> lock(mutexes[(reinterpret_cast<uintptr_t>(leaf) >> 8) % 16]);
    if (leaf->grad) {
      Tensor sum = Tensor::borrow(leaf->grad);
      if (options_.create_graph) {
        Tensor total = sum + gradient;
        leaf->grad->release();
        leaf->grad = total.detach_body();
      } else {
        ops::add.in_place(sum, gradient);  // keeps the memory that users (getParameters) hold on to
      }
      return;
    }
    // The user owns the gradient from now on: it may not share memory with anything.
    if (!options_.create_graph && !exclusive(gradient)) gradient = ops::clone(gradient);
    leaf->grad = gradient.detach_body();
  }

  const std::vector<Tensor>& outputs_;
  const std::vector<Tensor>& inputs_;
  BackwardOptions options_;
  std::vector<Tensor> results_;
  std::deque<NodeState> states_;
  std::vector<NodeState*> roots_;
  std::vector<NodeState*> ready_;
  std::unordered_map<Node*, NodeState*> overflow_;
  std::unordered_map<TensorBody*, std::vector<std::size_t>> leaf_captures_;
  std::unordered_map<Node*, std::vector<std::pair<uint32_t, std::size_t>>> node_captures_;
};

}  // namespace

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& output_gradients,
                                 const std::vector<Tensor>& inputs, BackwardOptions options) {
  check(!outputs.empty(), "backward: no outputs given");
  check(output_gradients.empty() || output_gradients.size() == outputs.size(), "backward: ", outputs.size(),
        " outputs but ", output_gradients.size(), " gradients");
  if (options.create_graph) options.retain_graph = true;
  std::vector<Tensor> gradients(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    check<Error>(wants_gradient(output.body()), "output ", i, " does not require a gradient: no input of its "
                 "computation did, or it ran under no_grad()");
    if (i < output_gradients.size() && output_gradients[i].defined()) {
      gradients[i] = output_gradients[i];
      check(gradients[i].shape() == output.shape(), "the gradient for output ", i, " has shape ",
            gradients[i].shape(), ", the output has shape ", output.shape());
      if (gradients[i].dtype() != output.dtype()) gradients[i] = ops::to_dtype(gradients[i], output.dtype());
    } else {
      check<Error>(output.numel() == 1, "a gradient must be given for output ", i, " of shape ",
                   output.shape(), ": only a single number has an obvious one");
      gradients[i] = full(output.shape(), 1.0, output.dtype(), output.device());
    }
  }
  Run run(outputs, inputs, options);
  std::vector<Tensor> results = run.execute(gradients);
  for (std::size_t i = 0; i < results.size(); ++i) {
    check<Error>(results[i].defined() || options.allow_unused, "grad(): no output depends on input ", i,
                 "; pass allow_unused=True if that is meant");
  }
  return results;
}

}  // namespace relume
