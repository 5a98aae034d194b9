// Anomaly mode: nodes remember where in the program their op ran, so that a failing
// backward pass can say so.
#pragma once
#include <string>

#include "autograd/node.h"

namespace relume {

struct AnomalyMode {
  bool enabled = false;
  bool check_nan = true;  // a NaN in a gradient is an error
};

AnomalyMode anomaly_mode();
void set_anomaly_mode(AnomalyMode mode);  // for all threads

// Set by the language that drives the core: says in words where the program is.
using DescribePlace = std::string (*)();
void set_place_description(DescribePlace describe);

// Called for every new node; does something in anomaly mode only.
void remember_forward_place(Node& node);

// Goes back through a node as Node::apply does; an error leaves its story in
// take_failure(), a NaN is an error.
void apply_watched(Node& node, const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients);

// Which op the last backward of this thread failed in, and where it ran; empty when it did
// not fail or anomaly mode was off. Clears it.
std::string take_failure();

}  // namespace relume
