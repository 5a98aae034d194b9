// Lua code is stopped by a signal, in whose handler LuaJIT lets a hook be set: the hook raises an
// error at the next instruction. Compiled loops look at no hooks. They do look whether LuaJIT's
// profiler wants something, if they were compiled while it runs: at a bit of a byte that says which
// hooks there are. So every runtime is told that it is being profiled, which no runtime is: a Lua state
// of its own holds the profiler, of which there is one, and its timer is stopped.
#include "bridge/binding/interruption.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace relume {
namespace {

constexpr int kMostRuntimes = 64;    // that can be stopped at a time
constexpr int kByInterrupt = 1, kByLimit = 2;
constexpr int kCountMask = 1 << 3;   // LUA_MASKCOUNT
// Of LuaJIT's insides: the bit that compiled loops look at, where a lua_State has its global_State, and
// how much of that is searched for the byte with the bit.
constexpr unsigned char kProfilerBit = 0x80;
constexpr int kGlobalStatePlace = 16, kSearched = 512;

using Hook = void (*)(void* state, void* activation);
using ProfilerCallback = void (*)(void* data, void* state, int samples, int vm_state);

// What LuaJIT exports, taken from the library that lupa has loaded.
struct LuaFunctions {
  int (*set_hook)(void* state, Hook hook, int mask, int count) = nullptr;
  int (*raise_error)(void* state, const char* format, ...) = nullptr;
  void (*start_profiler)(void* state, const char* mode, ProfilerCallback callback, void* data) = nullptr;
  void* (*new_state)() = nullptr;
};

struct Watched {
  std::atomic<void*> state{nullptr};               // one of the runtime's lua_States
  std::atomic<const unsigned char*> depth{nullptr};  // how many calls into Lua are under way
  std::atomic<unsigned char*> hooks{nullptr};        // the byte that compiled loops look at
  std::atomic<int> reason{0};                        // why it was stopped
};

LuaFunctions lua;
Watched watched[kMostRuntimes];
struct sigaction previous_interrupt;
int limit_signal = 0;

void raise_in_lua(void* state, void*) { lua.raise_error(state, "interrupted"); }

void stop(Watched& runtime, int reason) {
  void* state = runtime.state.load();
  const unsigned char* depth = runtime.depth.load();
  if (!state || !depth || *depth == 0) return;
  runtime.reason = reason;
  lua.set_hook(state, raise_in_lua, kCountMask, 1);
  if (unsigned char* hooks = runtime.hooks.load()) __atomic_fetch_or(hooks, kProfilerBit, __ATOMIC_SEQ_CST);
}

void on_interrupt(int signal, siginfo_t* info, void* context) {
  for (Watched& runtime : watched) stop(runtime, kByInterrupt);
  if (previous_interrupt.sa_flags & SA_SIGINFO) {
    previous_interrupt.sa_sigaction(signal, info, context);
  } else if (previous_interrupt.sa_handler != SIG_DFL && previous_interrupt.sa_handler != SIG_IGN) {
    previous_interrupt.sa_handler(signal);
  }
}

void on_limit(int, siginfo_t* info, void*) {
  const int place = info->si_value.sival_int;
  if (place >= 0 && place < kMostRuntimes) stop(watched[place], kByLimit);
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction* previous) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, previous);
}

// Starts LuaJIT's profiler without its timer and its signal.
void start_profiler(void* state, const char* mode) {
  struct sigaction action {};
  itimerval timer{};
  sigaction(SIGPROF, nullptr, &action);
  getitimer(ITIMER_PROF, &timer);
  lua.start_profiler(state, mode, [](void*, void*, int, int) {}, nullptr);
  setitimer(ITIMER_PROF, &timer, nullptr);
  sigaction(SIGPROF, &action, nullptr);
}

// The byte of a runtime that says which hooks there are: the one that follows what is set.
unsigned char* find_hooks(void* state) {
  unsigned char* global_state = nullptr;
  std::memcpy(&global_state, static_cast<char*>(state) + kGlobalStatePlace, sizeof global_state);
  bool follows[kSearched];
  std::fill_n(follows, kSearched, true);
  for (const int mask : {1, 2, 4, 8, 0}) {
    lua.set_hook(state, mask ? raise_in_lua : nullptr, mask, 1 << 30);
    for (int place = 0; place < kSearched; ++place) follows[place] &= global_state[place] == mask;
  }
  if (std::count(follows, follows + kSearched, true) != 1) return nullptr;
  return global_state + (std::find(follows, follows + kSearched, true) - follows);
}

// Lets the compiled loops of a runtime be stopped; null: they cannot.
unsigned char* prepare_loops(void* state) {
  static void* const holder = lua.new_state();  // of the profiler
  static const bool held = (start_profiler(holder, ""), true);
  (void)held;
  unsigned char* hooks = find_hooks(state);
  if (hooks) start_profiler(state, "l");
  return hooks;
}

// Is Python's handler of Ctrl-C still below ours, as when it was found?
void watch_signals() {
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &now);
  const bool is_ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_interrupt;
  const bool is_python = now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
  if (!is_ours && is_python) install(SIGINT, on_interrupt, &previous_interrupt);
  if (!limit_signal) {
    limit_signal = SIGRTMAX - 3;
    install(limit_signal, on_limit, nullptr);
  }
}

}  // namespace

void bind_interruption(nb::module_& module) {
  module.def("watch_lua", [](const char* library, std::uintptr_t state, std::uintptr_t depth, bool with_loops) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    check(handle != nullptr, "the library of LuaJIT is not loaded: ", library);
    lua.set_hook = reinterpret_cast<decltype(lua.set_hook)>(dlsym(handle, "lua_sethook"));
    lua.raise_error = reinterpret_cast<decltype(lua.raise_error)>(dlsym(handle, "luaL_error"));
    lua.start_profiler = reinterpret_cast<decltype(lua.start_profiler)>(dlsym(handle, "luaJIT_profile_start"));
    lua.new_state = reinterpret_cast<decltype(lua.new_state)>(dlsym(handle, "luaL_newstate"));
    if (!lua.set_hook || !lua.raise_error) return -1;
    with_loops = with_loops && lua.start_profiler && lua.new_state;
    unsigned char* hooks = with_loops ? prepare_loops(reinterpret_cast<void*>(state)) : nullptr;
    for (int place = 0; place < kMostRuntimes; ++place) {
      void* none = nullptr;
      if (watched[place].state.compare_exchange_strong(none, reinterpret_cast<void*>(state))) {
        watched[place].depth = reinterpret_cast<const unsigned char*>(depth);
        watched[place].hooks = hooks;
        watch_signals();
        return place;
      }
    }
    return -1;
  }, "Lets Ctrl-C stop a Lua runtime, its compiled loops too where asked: its place among those watched, -1 if "
     "there is none left.");
  module.def("watch_interrupts", watch_signals, "Puts the handler of Ctrl-C above Python's once more.");
  module.def("forget_lua", [](int place) {
    if (place < 0) return;
    watched[place].depth = nullptr;
    watched[place].hooks = nullptr;
    watched[place].reason = 0;
    watched[place].state = nullptr;
  }, "Ends what watch_lua began.");
  module.def("stop_lua", [](int place, std::uintptr_t thread) {
    if (place < 0) return false;
    sigval value{};
    value.sival_int = place;
    return pthread_sigqueue(static_cast<pthread_t>(thread), limit_signal, value) == 0;
  }, "Stops the Lua code that a thread runs.");
  module.def("resume_lua", [](int place) {
    const int reason = place < 0 ? 0 : watched[place].reason.exchange(0);
    if (reason == 0) return 0;
    if (unsigned char* hooks = watched[place].hooks.load()) *hooks &= static_cast<unsigned char>(~kProfilerBit);
    lua.set_hook(watched[place].state.load(), nullptr, 0, 0);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();  // KeyboardInterrupt
    return reason;
  }, "Lets a runtime run again; why was it stopped? 0: it was not, 1: Ctrl-C, 2: a time limit.");
}

}  // namespace relume
