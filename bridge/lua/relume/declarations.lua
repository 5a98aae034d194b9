-- The core's C interface (tensor/c_abi.h) as declarations for LuaJIT, and the library that has it.
local ffi = require 'ffi'
local types = require 'relume.types'

ffi.cdef [[
typedef struct {
   uint8_t type;
   int32_t count;
   union {
      void *tensor;
      int64_t integer;
      double real;
      bool boolean;
      const int64_t *integers;
      void *const *tensors;
      uint8_t dtype;
      const char *text;
   };
} relume_value;

const char *relume_last_error(void);
int relume_find_op(const char *name);
const char *relume_op_schema(int op);
int relume_call(int op, const relume_value *values, int count, void **results, int capacity);
int relume_call_recorded(int op, const relume_value *values, int count, void **results, int capacity);
int relume_call_into(int op, const relume_value *values, int count, void *const *out, int out_count);
int relume_call_in_place(int op, const relume_value *values, int count);
int relume_thread_count(void);
int relume_set_thread_count(int count);

void *relume_tensor_new(int dtype, int ndim, const int64_t *shape);
void *relume_tensor_new_empty(int dtype);
void *relume_tensor_alias(void *tensor);
void *relume_tensor_view(void *tensor, int64_t offset, int ndim, const int64_t *shape, const int64_t *strides);
void *relume_tensor_select(void *tensor, int dim, int64_t index);
void *relume_tensor_narrow(void *tensor, int dim, int64_t first, int64_t length);
int relume_tensor_set(void *tensor, void *storage, int64_t offset, int ndim, const int64_t *shape,
                      const int64_t *strides);
int relume_tensor_resize(void *tensor, int ndim, const int64_t *shape);
void *relume_tensor_new_like(void *like, int dtype);
int relume_tensor_resize_as(void *tensor, void *like);
int relume_tensor_same_shape(void *a, void *b);
void relume_tensor_retain(void *tensor);
void relume_tensor_retain_at(uint64_t address) __asm__("relume_tensor_retain");
double relume_tensor_share(void *tensor);
void relume_tensors_release(void *const *tensors, int64_t count);
void relume_tensor_bump_version(void *tensor);

void *relume_storage_new(int dtype, int64_t size);
void *relume_storage_part(void *storage, int64_t offset, int64_t size);
int relume_storage_resize(void *storage, int64_t size);
void relume_storage_retain(void *storage);
void relume_storage_release(void *storage);
]]

-- The first fields of TensorBody (tensor/tensor.h) and Storage (tensor/storage.h). The
-- underscore keeps them apart from Torch7's methods of the same names.
local layout = [[
typedef struct relume_%(class)sStorage {
   %(element)s *_data;
   size_t _bytes;
   uint8_t _dtype, _device_type;
   int8_t _device_index;
   bool _resizable, _exported;
} relume_%(class)sStorage;

typedef struct relume_%(class)sTensor {
   relume_%(class)sStorage *_storage;
   int64_t _offset, _numel;
   int32_t _ndim;
   uint8_t _dtype;
   bool _contiguous, _requires_grad, _is_view;
   int64_t _shape[16], _strides[16];
} relume_%(class)sTensor;
]]
for _, row in ipairs(types.rows) do
   ffi.cdef((layout:gsub('%%%((%w+)%)s', row)))
   row.tensor_pointer = ffi.typeof('relume_' .. row.class .. 'Tensor *')
   row.storage_pointer = ffi.typeof('relume_' .. row.class .. 'Storage *')
   row.tensor_struct = ffi.typeof('relume_' .. row.class .. 'Tensor')
   row.storage_struct = ffi.typeof('relume_' .. row.class .. 'Storage')
   row.element_pointer = ffi.typeof(row.element .. ' *')
end

return ffi.load(require 'relume.library')
