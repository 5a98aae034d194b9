/* The core's C interface, read by LuaJIT's FFI (bridge/lua) and by C programs.
 *
 * Functions that can fail return -1 or NULL and leave a message for relume_last_error();
 * no C++ exception ever crosses. Returned tensors and storages are owned by the caller. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace relume {
struct TensorBody;
struct Storage;
struct Value;
}  // namespace relume
typedef relume::TensorBody relume_tensor;
typedef relume::Storage relume_storage;
typedef relume::Value relume_value;
#define RELUME_API extern "C" __attribute__((visibility("default")))
#else
typedef struct relume_tensor relume_tensor;
typedef struct relume_storage relume_storage;
typedef struct relume_value relume_value;
#define RELUME_API
#endif

RELUME_API const char* relume_last_error(void); /* of the calling thread */

/* Ops of the registry. They do not record on the tape, which is for C++ and Python:
 * callers from other languages bring their own backward. `values` are the arguments in schema order; missing ones get their
 * defaults. */
RELUME_API int relume_find_op(const char* name); /* an id, or -1 */
RELUME_API const char* relume_op_schema(int op);
/* Returns the number of results (written to `results`, at most `capacity`), or -1. */
RELUME_API int relume_call(int op, const relume_value* values, int count, relume_tensor** results,
                           int capacity);
/* The out= form: writes into tensors that exist. */
RELUME_API int relume_call_into(int op, const relume_value* values, int count,
                                relume_tensor* const* out, int out_count);
/* The in-place form: the first argument is the result. */
RELUME_API int relume_call_in_place(int op, const relume_value* values, int count);

/* The tape (autograd/c_abi.cpp). A watched tensor is another body on the same memory, of which
 * gradients can be asked; integers are not watched. */
RELUME_API relume_tensor* relume_tensor_watch(relume_tensor* tensor);
RELUME_API int relume_call_recorded(int op, const relume_value* values, int count, relume_tensor** results,
                                    int capacity);
/* d outputs / d inputs, times the gradients of the outputs; NULL where an input plays no part. What was
 * recorded stays, for another call. */
RELUME_API int relume_gradients(relume_tensor* const* outputs, relume_tensor* const* output_gradients,
                                int output_count, relume_tensor* const* inputs, int input_count,
                                relume_tensor** results);

/* Threads that ops may use, in the whole process. */
RELUME_API int relume_thread_count(void);
RELUME_API int relume_set_thread_count(int count);

/* The address of a function of the BLAS library, such as "dgesv_" of its LAPACK; NULL: there is none. */
RELUME_API void* relume_blas_function(const char* name);

/* Tensors. dtype numbers are those of enum DType in tensor/dtype.h. */
RELUME_API relume_tensor* relume_tensor_new(int dtype, int ndim, const int64_t* shape);
/* A tensor without elements and without a storage, as torch.Tensor() makes it: shape (0). */
RELUME_API relume_tensor* relume_tensor_new_empty(int dtype);
/* Another body on the same memory. */
RELUME_API relume_tensor* relume_tensor_alias(relume_tensor* tensor);
/* Another view of the same memory, with a geometry of its own; bounds are checked. */
RELUME_API relume_tensor* relume_tensor_view(relume_tensor* tensor, int64_t offset, int ndim, const int64_t* shape,
                                             const int64_t* strides);
/* A view with one dimension less, at `index` of dimension `dim`. */
RELUME_API relume_tensor* relume_tensor_select(relume_tensor* tensor, int dim, int64_t index);
/* A view of `length` indices of dimension `dim`, from `first` on. */
RELUME_API relume_tensor* relume_tensor_narrow(relume_tensor* tensor, int dim, int64_t first, int64_t length);
/* Points a tensor at part of a storage (NULL: none); bounds are checked. strides may be NULL. */
RELUME_API int relume_tensor_set(relume_tensor* tensor, relume_storage* storage, int64_t offset,
                                 int ndim, const int64_t* shape, const int64_t* strides);
/* Torch7's resize: grows the storage when needed and keeps its elements. */
RELUME_API int relume_tensor_resize(relume_tensor* tensor, int ndim, const int64_t* shape);
/* The same three for the shape of another tensor. As in Torch7, all tensors without elements have one shape, (0). */
RELUME_API relume_tensor* relume_tensor_new_like(relume_tensor* like, int dtype);
RELUME_API int relume_tensor_resize_as(relume_tensor* tensor, relume_tensor* like);
RELUME_API int relume_tensor_same_shape(relume_tensor* a, relume_tensor* b); /* 1 or 0 */
RELUME_API void relume_tensor_retain(relume_tensor* tensor);
/* Retains, and returns the address as a number: what crosses to another language. */
RELUME_API double relume_tensor_share(relume_tensor* tensor);
RELUME_API void relume_tensor_release(relume_tensor* tensor);
RELUME_API void relume_tensors_release(relume_tensor* const* tensors, int64_t count);
RELUME_API void relume_tensor_bump_version(relume_tensor* tensor);

/* Storages: `size` in elements. */
RELUME_API relume_storage* relume_storage_new(int dtype, int64_t size);
/* `size` elements of another storage: the same memory, which it keeps alive; not resizable. */
RELUME_API relume_storage* relume_storage_part(relume_storage* storage, int64_t offset, int64_t size);
RELUME_API int relume_storage_resize(relume_storage* storage, int64_t size);
RELUME_API void relume_storage_retain(relume_storage* storage);
RELUME_API void relume_storage_release(relume_storage* storage);

/* Random numbers, drawn from the calling thread's generator: the process's own, which Python
 * shares, or the one that relume_generator_use chose. */
typedef struct relume_generator relume_generator;
RELUME_API relume_generator* relume_generator_new(void); /* seeded from the system's entropy */
RELUME_API void relume_generator_free(relume_generator* generator);
/* NULL chooses the process's generator. Returns the choice before, NULL likewise. */
RELUME_API relume_generator* relume_generator_use(relume_generator* generator);

RELUME_API void relume_manual_seed(uint64_t seed);
RELUME_API uint64_t relume_seed(void); /* from the system's entropy; returns the seed */
RELUME_API uint64_t relume_initial_seed(void);
RELUME_API size_t relume_rng_state_size(void); /* bytes, as in torch.getRNGState() */
RELUME_API void relume_get_rng_state(void* bytes);
RELUME_API int relume_set_rng_state(const void* bytes, size_t count);

RELUME_API uint32_t relume_random(void);
/* One of first .. last, both included. The caller has checked that first <= last. */
RELUME_API int64_t relume_random_between(int64_t first, int64_t last);
RELUME_API double relume_uniform(double low, double high);
RELUME_API double relume_normal(double mean, double std);
RELUME_API double relume_exponential(double rate);
RELUME_API double relume_cauchy(double median, double scale);
RELUME_API double relume_log_normal(double mean, double std);
RELUME_API double relume_geometric(double p);
RELUME_API int relume_bernoulli(double p);
