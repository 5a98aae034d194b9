-- The element types, one row each. `dtype` is the number of enum DType in tensor/dtype.h,
-- `element` the C type that the FFI reads, `class` the first half of a Torch7 class name.
-- A row without `class` of Torch7's own (Bool, BFloat16) is what Python may hand over.
local rows = {
   {class = 'Bool', dtype = 0, element = 'uint8_t', bytes = 1},
   {class = 'Byte', dtype = 1, element = 'uint8_t', bytes = 1},
   {class = 'Char', dtype = 2, element = 'int8_t', bytes = 1},
   {class = 'Short', dtype = 3, element = 'int16_t', bytes = 2},
   {class = 'Int', dtype = 4, element = 'int32_t', bytes = 4},
   {class = 'Long', dtype = 5, element = 'int64_t', bytes = 8},
   {class = 'Half', dtype = 6, element = 'uint16_t', bytes = 2, half = true},
   {class = 'BFloat16', dtype = 7, element = 'uint16_t', bytes = 2, half = true},
   {class = 'Float', dtype = 8, element = 'float', bytes = 4, floating = true},
   {class = 'Double', dtype = 9, element = 'double', bytes = 8, floating = true},
}

local types = {rows = rows, by_dtype = {}, by_class = {}}
for _, row in ipairs(rows) do
   row.tensor_class = 'torch.' .. row.class .. 'Tensor'
   row.storage_class = 'torch.' .. row.class .. 'Storage'
   row.integer = not row.floating and not row.half
   types.by_dtype[row.dtype] = row
   types.by_class[row.class] = row
end
return types
