-- Lua functions in files: their bytecode, and the variables that they have from outside. The
-- variables carry an id, so that closures which shared one share it again when they are read.
local ffi = require 'ffi'
local storage = require 'torch.storage'
local types = require 'relume.types'

local functions = {}

-- Numbers that stand for a function in a file, oldest first: variables without names, written
-- anew each time; the same, written once; with names and ids.
functions.tags = {anonymous = 6, referenced = 7, named = 8}

-- What messages call the list of a function's variables.
functions.variables = '<upvalues>'

-- Functions whose bytecode this LuaJIT does not take, with what they were in the file.
local kept = setmetatable({}, {__mode = 'k'})

function functions.is_writable(f)
   return kept[f] ~= nil or (pcall(string.dump, f))
end

local function id_of(f, position)
   local id = ffi.cast('void *', debug.upvalueid(f, position))
   return tonumber(ffi.cast('uintptr_t', id))
end

local function variables_of(f)
   local list = {}
   for position = 1, math.huge do
      local name, value = debug.getupvalue(f, position)
      if not name then return list end
      list[position] = {name = name, id = id_of(f, position), value = value}
   end
end

function functions.tag(f)
   return kept[f] and kept[f].tag or functions.tags.named
end

function functions.write(file, f, hook)
   local record = kept[f]
   local code = record and record.code or string.dump(f)
   file:writeInt(#code)
   file:writeChar(storage.of_text(types.by_class.Char, code))
   file:writeObject(record and record.variables or variables_of(f), functions.variables, hook)
end

-- Stands for a function that cannot run here; torch.save writes it as it was.
local function keep(tag, code, message)
   local function f()
      error('this function came from a file in bytecode that LuaJIT 2.1 cannot run: ' .. message, 2)
   end
   kept[f] = {tag = tag, code = code}
   return f
end

-- `place(f)` notes the function before its variables are read: they may refer to it.
function functions.read(file, tag, place)
   local code = file:readChar(file:readInt()):string()
   local f, message = loadstring(code)
   f = f or keep(tag, code, message)
   place(f)
   local variables = file:readObject()
   if kept[f] then
      kept[f].variables = variables
      return f
   end
   if tag ~= functions.tags.named then
      -- a nil among the values leaves a hole
      for position, value in pairs(variables) do debug.setupvalue(f, position, value) end
      return f
   end
   local shared = file.references.variables
   for position, variable in ipairs(variables) do
      local first = variable.id and shared[variable.id]
      if first then
         debug.upvaluejoin(f, position, first.f, first.position)
      else
         debug.setupvalue(f, position, variable.value)
         if variable.id then shared[variable.id] = {f = f, position = position} end
      end
   end
   return f
end

return functions
