#include "autograd/engine.h"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "autograd/anomaly.h"
#include "autograd/derivative.h"
#include "autograd/node_extras.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

std::atomic<InterruptCheck> interrupt_check{nullptr};

// Calls the interrupt check of long runs some times per second.
class InterruptTimer {
 public:
  void tick() {
    if (++ticks_ % 16 != 0) return;  // looking at the clock costs as much as a small node
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + kInterval;
    if (InterruptCheck check = interrupt_check) check();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{50};
  unsigned ticks_ = 0;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kInterval;
};

// What a run knows about one node.
struct NodeState {
  Node* node = nullptr;
  int waiting_for = 0;      // gradients that have yet to arrive from nodes of this run
  bool needed = true;       // does the way to a wanted input lead through this node?
  Tensor first;             // gradient of output 0
  std::vector<Tensor> more; // of the other outputs
  bool visited = false;     // by mark_needed
  bool captured = false;    // is the gradient of one of its outputs asked for?

  Tensor& gradient(uint32_t output) { return output == 0 ? first : more[output - 1]; }
};

// What a run knows about a leaf with hooks, which get the whole gradient at once.
struct LeafState {
  int waiting_for = 0;  // edges of this run that have yet to deliver
  Tensor sum;
};

constexpr int kInlineEdges = 8;

class Run {
 public:
  Run(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, BackwardOptions options)
      : outputs_(outputs), inputs_(inputs), options_(options), results_(inputs.size()) {}
  ~Run() {
    for (NodeState& state : states_) release_state(state);
    for (Edge& edge : root_edges_) release_edge(edge);
  }

  std::vector<Tensor> execute(const std::vector<Tensor>& output_gradients) {
    find_captures();
    for (const Tensor& output : outputs_) {
      root_edges_.push_back(gradient_edge(output.body()));
      const Edge& root = root_edges_.back();
      if (root.node) discover(root.node);
      if (root.leaf) expect_delivery(root.leaf);
    }
    if (!inputs_.empty()) mark_needed();

    GradMode mode(options_.create_graph);
    std::vector<NodeState*> roots;
    for (std::size_t i = 0; i < root_edges_.size(); ++i) {
      deliver(root_edges_[i], output_gradients[i]);
      if (root_edges_[i].leaf) {
        delivered(root_edges_[i].leaf);
      } else {
        roots.push_back(state_of(root_edges_[i].node));
      }
    }
    // A root that another root depends on waits for its own gradients too.
    for (NodeState* state : roots) {
      if (state->waiting_for == 0) push_ready(state);
    }
    InterruptTimer timer;
    while (!ready_.empty()) {
      timer.tick();
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

  // The edges of the roots keep all nodes alive until the run ends.
  NodeState* add_state(Node* node) {
    NodeState* state = &states_.emplace_back();
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
        if (TensorBody* leaf = node->edges[i].leaf) expect_delivery(leaf);
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

  void expect_delivery(TensorBody* leaf) {
    if (leaf->hooks) ++hooked_leaves_[leaf].waiting_for;
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
    // Depth first, so that a node comes after all that its edges lead to.
    std::vector<std::pair<NodeState*, int>> stack;
    auto visit = [&](NodeState* state) {
      state->visited = true;
      state->needed = state->captured = !node_captures_.empty() && node_captures_.count(state->node) > 0;
      stack.push_back({state, 0});
    };
    for (NodeState& root : states_) {
      if (!root.visited) visit(&root);
      while (!stack.empty()) {
        auto& [state, position] = stack.back();
        if (position == state->node->edge_count) {
          const bool needed = state->needed;
          stack.pop_back();
          if (needed && !stack.empty()) stack.back().first->needed = true;
          continue;
        }
        const Edge& edge = state->node->edges[position++];
        if (edge.leaf && leaf_captures_.count(edge.leaf)) state->needed = true;
        if (!edge.node) continue;
        NodeState* next = state_of(edge.node);
        if (next->needed && next->visited) state->needed = true;
        if (!next->visited) visit(next);
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
    if (NodeExtras* extras = node->find_extras()) call_output_hooks(state, *extras);
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

    if (any && state.needed && has_gradient(state)) {
      NodeLock lock(node);
      if (state.more.empty()) {
        Tensor gradient = std::move(state.first);
        apply(*node, &gradient, wanted_edges, gradients);
      } else {
        std::vector<Tensor> all{std::move(state.first)};
        for (Tensor& gradient : state.more) all.push_back(std::move(gradient));
        apply(*node, all.data(), wanted_edges, gradients);
      }
      if (!options_.retain_graph) node->release_saved();
    }
    state.first = Tensor();
    state.more.clear();
    for (int i = 0; i < edge_count; ++i) {
      const Edge& edge = node->edges[i];
      if (wanted_edges[i] && gradients[i].defined()) deliver(edge, std::move(gradients[i]));
      if (edge.leaf) delivered(edge.leaf);
      if (!edge.node) continue;
      NodeState* next = state_of(edge.node);
      if (--next->waiting_for == 0) push_ready(next);
    }
    release_state(state);
  }

  static bool has_gradient(const NodeState& state) {
    bool result = state.first.defined();
    for (const Tensor& gradient : state.more) result |= gradient.defined();
    return result;
  }

  void call_output_hooks(NodeState& state, NodeExtras& extras) {
    for (const NodeExtras::OutputHook& entry : extras.on_output_gradient.all()) {
      Tensor& gradient = state.gradient(entry.output);
      if (gradient.defined()) gradient = replaced(entry.hook, gradient);
    }
    for (int i = 0; i < state.node->output_count; ++i) {
      const Tensor& gradient = state.gradient(i);
      if (gradient.defined()) extras.keep_gradient(i, gradient);
    }
  }

  // The gradient, or what a hook gives in its place.
  static Tensor replaced(const GradientHook& hook, const Tensor& gradient) {
    const Tensor result = hook(gradient);
    if (!result.defined()) return gradient;
    check(result.shape() == gradient.shape(), "a hook gave a gradient of shape ", result.shape(),
          " in place of one of shape ", gradient.shape());
    return result.dtype() == gradient.dtype() ? result : ops::to_dtype(result, gradient.dtype());
  }

  static void apply(Node& node, Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) {
    NodeExtras* extras = node.find_extras();
    if (!extras && !anomaly_mode().enabled) {
      node.apply(output_gradients, wanted, input_gradients);
      return;
    }
    if (extras) call_pre_hooks(node, *extras, output_gradients);
    if (anomaly_mode().enabled) {
      apply_watched(node, output_gradients, wanted, input_gradients);
    } else {
      node.apply(output_gradients, wanted, input_gradients);
    }
    if (extras) call_post_hooks(node, *extras, output_gradients, input_gradients);
  }

  static void call_pre_hooks(Node& node, NodeExtras& extras, Tensor* output_gradients) {
    for (const NodePreHook& hook : extras.before.all()) {
      replace(output_gradients, node.output_count, hook(list_of(output_gradients, node.output_count)));
    }
  }

  static void call_post_hooks(Node& node, NodeExtras& extras, const Tensor* output_gradients,
                              Tensor* input_gradients) {
    for (const NodePostHook& hook : extras.after.all()) {
      replace(input_gradients, node.edge_count,
              hook(list_of(input_gradients, node.edge_count), list_of(output_gradients, node.output_count)));
    }
  }

  static std::vector<Tensor> list_of(const Tensor* tensors, int count) { return {tensors, tensors + count}; }

  static void replace(Tensor* gradients, int count, std::vector<Tensor> replacements) {
    if (replacements.empty()) return;
    check(static_cast<int>(replacements.size()) == count, "a hook of a node must return ", count,
          " gradients or None, not ", replacements.size());
    for (int i = 0; i < count; ++i) gradients[i] = std::move(replacements[i]);
  }

  // Adds a gradient to what has arrived at the other end of an edge.
  void deliver(const Edge& edge, Tensor gradient) {
    if (edge.node) {
      accumulate(state_of(edge.node)->gradient(edge.output_index), std::move(gradient));
    } else if (LeafState* state = hooked(edge.leaf)) {
      accumulate(state->sum, std::move(gradient));
    } else {
      deliver_to_leaf(edge.leaf, std::move(gradient));
    }
  }

  LeafState* hooked(TensorBody* leaf) {
    if (hooked_leaves_.empty()) return nullptr;
    auto found = hooked_leaves_.find(leaf);
    return found == hooked_leaves_.end() ? nullptr : &found->second;
  }

  // An edge to a leaf has done its work; after the last one the leaf's hooks get their turn.
  void delivered(TensorBody* leaf) {
    LeafState* state = hooked(leaf);
    if (!state || --state->waiting_for > 0 || !state->sum.defined()) return;
    auto hooks = Ref<TensorHooks>::borrow(leaf->hooks);
    Tensor gradient = std::move(state->sum);
    for (const GradientHook& hook : hooks->on_gradient.all()) gradient = replaced(hook, gradient);
    deliver_to_leaf(leaf, std::move(gradient));
    if (!inputs_.empty()) return;
    for (const AccumulationHook& hook : hooks->after_accumulation.all()) hook(Tensor::borrow(leaf));
  }

  void deliver_to_leaf(TensorBody* leaf, Tensor gradient) {
    if (inputs_.empty()) {
      accumulate_leaf(leaf, std::move(gradient));
      return;
    }
    auto found = leaf_captures_.find(leaf);
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
  std::vector<Edge> root_edges_;  // owned
  std::vector<NodeState*> ready_;
  std::unordered_map<Node*, NodeState*> overflow_;
  std::unordered_map<TensorBody*, LeafState> hooked_leaves_;
  std::unordered_map<TensorBody*, std::vector<std::size_t>> leaf_captures_;
  std::unordered_map<Node*, std::vector<std::pair<uint32_t, std::size_t>>> node_captures_;
};

}  // namespace

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

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
      check<Error>(!is_complex(output.dtype()), "a gradient must be given for complex output ", i,
                   ": only a real number has an obvious one");
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
