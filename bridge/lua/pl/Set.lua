-- pl.Set: sets, whose values are the keys of the table. `+` is the union, `*` the intersection, `-` the
-- difference, `^` the symmetric difference, `<` asks for a proper subset.
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'
local Map = require 'pl.Map'

local Set = class(Map, nil, utils.stdmt.Set)

function Set:_init(source)
   source = source or {}
   local mt = getmetatable(source)
   if mt == utils.stdmt.Set or mt == utils.stdmt.Map then
      for key in pairs(source) do self[key] = true end
   else
      for _, value in ipairs(source) do self[value] = true end
   end
end

local function new(values) return setmetatable(values, Set) end

-- With `+` and its kin, a single value stands for the set of it.
local function as_set(value)
   return getmetatable(value) == Set and value or Set {value}
end

function Set.values(set) return Map.keys(set) end

function Set.map(set, f, ...)
   f = utils.function_arg(1, f)
   local result = {}
   for value in pairs(set) do result[f(value, ...)] = true end
   return new(result)
end

function Set.union(a, b) return new(tablex.merge(a, b, true)) end
function Set.intersection(a, b) return new(tablex.merge(a, b, false)) end
function Set.difference(a, b) return new(tablex.difference(a, b, false)) end
function Set.symmetric_difference(a, b) return new(tablex.difference(a, b, true)) end

function Set.issubset(a, b)
   for value in pairs(a) do
      if rawget(b, value) == nil then return false end
   end
   return true
end

function Set.isempty(set) return next(set) == nil end
function Set.isdisjoint(a, b) return Set.isempty(Set.intersection(a, b)) end
function Set.len(set) return tablex.size(set) end

for sign, f in pairs {__add = Set.union, __mul = Set.intersection, __sub = Set.difference,
   __pow = Set.symmetric_difference, __concat = Set.union} do
   Set[sign] = function(a, b) return f(as_set(a), as_set(b)) end
end
function Set.__lt(a, b) return Set.issubset(a, b) and not Set.issubset(b, a) end
function Set.__le(a, b) return Set.issubset(a, b) end
function Set.__eq(a, b) return Set.issubset(a, b) and Set.issubset(b, a) end
Set.__len = Set.len

function Set:__tostring()
   return '[' .. table.concat(utils.array_tostring(Set.values(self)), ',') .. ']'
end

return Set
