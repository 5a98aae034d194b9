-- Whole graphs of objects across the border: tables and objects of classes are rebuilt on
-- the other side, tensors and storages go by reference, and what was one object stays one.
--
-- Python to Lua: make(typename) for every object, then fill(number, kinds, key, value, ...).
-- Lua to Python: walk(root) calls back in the same two steps.
local bridge = require 'relume.bridge'
local class = require 'torch.class'

local graph = {}
local decoders, encode_one = bridge.decoders, bridge.encode_one

-- The metatable of a class; its package is loaded when it is known by the name's prefix.
local function metatable_for(typename)
   local mt = class.getmetatable(typename)
   if mt then return mt end
   bridge.load_package_of(typename)
   return class.metatable_for_objects(typename)
end

-- Starts a graph; objects are known by number until it is done.
function graph.begin()
   return {objects = {}}
end

-- `typenames` are separated by line ends; an empty one is a plain table.
function graph.make(state, typenames)
   local objects = state.objects
   for typename in typenames:gmatch('([^\n]*)\n') do
      local object = {}
      if typename ~= '' then
         setmetatable(object, metatable_for(typename))
      end
      objects[#objects + 1] = object
   end
end

local function decode_entry(objects, kind, value)
   if kind == 'r' then return objects[value] end
   return decoders[kind](value)
end

function graph.fill(state, number, kinds, ...)
   local objects = state.objects
   local object = objects[number]
   local values = {...}
   for i = 1, #kinds, 2 do
      local key = decode_entry(objects, kinds:sub(i, i), values[i])
      local value = decode_entry(objects, kinds:sub(i + 1, i + 1), values[i + 1])
      rawset(object, key, value)
   end
   -- a layer of a class that nobody has defined can still be walked over
   local mt = getmetatable(object)
   if mt and nn and rawget(object, 'gradInput') ~= nil then class.stand_in(mt, 'nn.Undefined') end
end

-- The object with this number, once the graph is filled.
function graph.object(state, number)
   local completed = {}
   for i = #state.objects, 1, -1 do  -- what is inside comes first
      local object = state.objects[i]
      if getmetatable(object) and object.completeFields then object:completeFields(completed) end
   end
   return state.objects[number]
end

----------------------------------------------------------------------------------------

local holds_others = {l = true, c = true, m = true, k = true}

-- Lists every table and object that can be reached: visit(number, typename, kinds, ...) for
-- each, in the order of their numbers. Nothing recurses.
function graph.walk(root, visit)
   local numbers, queue = {[root] = 1}, {root}
   local next_one = 1
   while queue[next_one] ~= nil do
      local object = queue[next_one]
      local kinds, values, n = {}, {}, 0
      for key, value in next, object do
         for part = 1, 2 do
            n = n + 1
            local kind, crossed = encode_one((select(part, key, value)))
            if holds_others[kind] then
               if not numbers[crossed] then
                  queue[#queue + 1] = crossed
                  numbers[crossed] = #queue
               end
               kind, crossed = 'r', numbers[crossed]
            end
            kinds[n], values[n] = kind, crossed
         end
      end
      visit(next_one, class.typename(object) or '', table.concat(kinds), values)
      next_one = next_one + 1
   end
end

return graph
