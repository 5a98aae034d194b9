// Routines that listen to what a thread does.
#pragma once
#include "tensor/routine.h"

namespace relume {

// With Python's lock held. From here on the routine is told of every op that this thread runs.
// False when somebody else is listening.
bool start_noting(Routine& routine);
void stop_noting();

}  // namespace relume
