-- pl.tablex: functions of tables. Functions among the arguments may be operators' signs or string lambdas.
local types = require 'pl.types'
local utils = require 'pl.utils'

local tablex = {}
local function_arg = utils.function_arg

local function check_table(position, value)
   if not types.is_iterable(value) then
      error(('argument %d: %s is not %s'):format(position, type(value), 'iterable'), 3)
   end
end

local function check_list(position, value)
   if not types.is_indexable(value) then
      error(('argument %d: %s is not %s'):format(position, type(value), 'indexable'), 3)
   end
end

-- A result that is of the class of `like`, of a given one, or a plain table.
local function make_like(result, like, default)
   local mt = getmetatable(like) or utils.stdmt[default]
   return mt and setmetatable(result, mt) or result
end

local function list_like(result, like)
   local mt = getmetatable(like)
   if mt == nil then mt = utils.stdmt.List end
   return setmetatable(result, mt)
end

----------------------------------------------------------------------------------------
-- Copies.

function tablex.update(to, from)
   check_table(1, to)
   check_table(2, from)
   for key, value in pairs(from) do to[key] = value end
   return to
end

function tablex.copy(t)
   check_table(1, t)
   local result = {}
   for key, value in pairs(t) do result[key] = value end
   return result
end

local function deep_copy(value, done)
   if type(value) ~= 'table' then return value end
   if done[value] then return done[value] end
   local result = {}
   done[value] = result
   for key, item in pairs(value) do result[deep_copy(key, done)] = deep_copy(item, done) end
   return setmetatable(result, getmetatable(value))
end

function tablex.deepcopy(t) return deep_copy(t, {}) end

-- Elements source[from .. from + count - 1] to `to` on; `clears` what stands after them.
local function copy_part(target, source, to, from, count, clears)
   check_list(1, target)
   check_list(2, source)
   to, from = to or 1, from or 1
   count = math.min(count or #source, #source - from + 1)
   local first, last, step = 0, count - 1, 1
   if rawequal(target, source) and to > from then first, last, step = count - 1, 0, -1 end
   for i = first, last, step do target[to + i] = source[from + i] end
   if clears then tablex.clear(target, to + math.max(count, 0)) end
   return target
end

function tablex.icopy(target, source, to, from, count)
   return copy_part(target, source, to, from, count, true)
end

function tablex.move(target, source, to, from, count)
   return copy_part(target, source, to, from, count, false)
end

local function slice_bounds(t, first, last)
   first, last = first or 1, last or -1
   if first < 0 then first = #t + first + 1 end
   if last < 0 then last = #t + last + 1 end
   return math.max(first, 1), math.min(last, #t)
end

function tablex.sub(t, first, last)
   check_list(1, t)
   first, last = slice_bounds(t, first, last)
   local result = {}
   for i = first, last do result[#result + 1] = t[i] end
   return list_like(result, t)
end

function tablex.set(t, value, first, last)
   check_list(1, t)
   local is_function = types.is_callable(value)
   for i = first or 1, last or #t do t[i] = is_function and value(i) or not is_function and value or nil end
end

function tablex.new(count, value)
   local result = {}
   tablex.set(result, value, 1, count)
   return result
end

function tablex.clear(t, first)
   for i = #t, first or 1, -1 do t[i] = nil end
end

-- insertvalues(t [, position], values)
function tablex.insertvalues(t, ...)
   check_list(1, t)
   local position, values = ...
   if values == nil then position, values = #t + 1, position end
   check_list(3, values)
   local count = #values
   for i = #t, position, -1 do t[i + count] = t[i] end
   for i = 1, count do t[position + i - 1] = values[i] end
   return t
end

function tablex.removevalues(t, first, last)
   check_list(1, t)
   first, last = slice_bounds(t, first, last)
   for _ = first, last do table.remove(t, first) end
   return t
end

function tablex.range(first, last, step)
   local result = {}
   for i = first, last, step or 1 do result[#result + 1] = i end
   return make_like(result, nil, 'List')
end

----------------------------------------------------------------------------------------
-- Comparing and counting.

function tablex.size(t)
   check_table(1, t)
   local count = 0
   for _ in pairs(t) do count = count + 1 end
   return count
end

-- `open` are the tables that are being compared: in a cycle, they count as equal.
local function deep_equal(a, b, ignores_metatables, epsilon, open)
   if type(a) ~= type(b) then return false end
   if type(a) ~= 'table' then
      if type(a) == 'number' and epsilon then return math.abs(a - b) < epsilon end
      return a == b
   end
   if not ignores_metatables then
      local mt = getmetatable(a)
      if mt and mt.__eq then return a == b end
   end
   if open[a] == b then return true end
   open[a] = b
   for key in pairs(a) do if b[key] == nil then return false end end
   for key in pairs(b) do if a[key] == nil then return false end end
   for key, value in pairs(a) do
      if not deep_equal(value, b[key], ignores_metatables, epsilon, open) then return false end
   end
   open[a] = nil
   return true
end

function tablex.deepcompare(a, b, ignores_metatables, epsilon)
   return deep_equal(a, b, ignores_metatables, epsilon, {})
end

function tablex.compare(a, b, equal)
   if #a ~= #b then return false end
   if equal then
      equal = function_arg(3, equal)
      for i = 1, #a do if not equal(a[i], b[i]) then return false end end
   else
      for i = 1, #a do if a[i] ~= b[i] then return false end end
   end
   return true
end

function tablex.compare_no_order(a, b, equal)
   check_list(1, a)
   check_list(2, b)
   equal = equal and function_arg(3, equal)
   if #a ~= #b then return false end
   local taken = {}
   for i = 1, #a do
      local found
      for j = 1, #b do
         local same
         if equal then same = equal(a[i], b[j]) else same = a[i] == b[j] end
         if not taken[j] and same then
            found = j
            break
         end
      end
      if not found then return false end
      taken[found] = true
   end
   return true
end

function tablex.find(t, value, first)
   check_list(1, t)
   first = first or 1
   if first < 0 then first = #t + first + 1 end
   for i = first, #t do if t[i] == value then return i end end
   return nil
end

function tablex.rfind(t, value, first)
   check_list(1, t)
   first = first or #t
   if first < 0 then first = #t + first + 1 end
   for i = first, 1, -1 do if t[i] == value then return i end end
   return nil
end

function tablex.find_if(t, condition, argument)
   check_table(1, t)
   condition = function_arg(2, condition)
   for key, value in pairs(t) do
      local found = condition(value, argument)
      if found then return key, found end
   end
   return nil
end

-- A name such as 'math.sin' under which a value is reached from `t`.
function tablex.search(t, wanted, excluded)
   check_table(1, t)
   local seen = {[t] = true}
   for _, one in pairs(excluded or {}) do seen[one] = true end
   local function visit(place, prefix)
      for key, value in pairs(place) do
         if value == wanted then return prefix .. tostring(key) end
      end
      for key, value in pairs(place) do
         if type(value) == 'table' and not seen[value] then
            seen[value] = true
            local found = visit(value, prefix .. tostring(key) .. '.')
            if found then return found end
         end
      end
      return nil
   end
   return visit(t, '')
end

function tablex.count_map(t, equal)
   check_list(1, t)
   local counts, counted = {}, {}
   equal = equal and function_arg(2, equal)
   for i = 1, #t do
      local value = t[i]
      if equal == nil then
         counts[value] = (counts[value] or 0) + 1
      elseif not counted[i] then
         local count = 1
         for j = i + 1, #t do
            if not counted[j] and equal(value, t[j]) then count, counted[j] = count + 1, true end
         end
         counts[value] = count
      end
   end
   return make_like(counts, nil, 'Map')
end

----------------------------------------------------------------------------------------
-- Functions of all values.

function tablex.index_by(t, keys)
   check_list(1, t)
   check_list(2, keys)
   local result = {}
   for i = 1, #keys do result[i] = t[keys[i]] end
   return list_like(result, t)
end

function tablex.map(f, t, ...)
   check_table(1, t)
   f = function_arg(1, f)
   local result = {}
   for key, value in pairs(t) do result[key] = f(value, ...) end
   return make_like(result, t)
end

function tablex.imap(f, t, ...)
   check_list(1, t)
   f = function_arg(1, f)
   local result = {}
   for i = 1, #t do result[i] = f(t[i], ...) or false end
   return list_like(result, t)
end

function tablex.map_named_method(name, t, ...)
   utils.assert_string(1, name)
   check_list(2, t)
   local result = {}
   for i = 1, #t do
      local value = t[i]
      result[i] = value[name](value, ...)
   end
   return list_like(result, t)
end

function tablex.transform(f, t, ...)
   check_table(1, t)
   f = function_arg(1, f)
   for key, value in pairs(t) do t[key] = f(value, ...) end
end

function tablex.map2(f, a, b, ...)
   check_table(1, a)
   check_table(2, b)
   f = function_arg(1, f)
   local result = {}
   for key, value in pairs(a) do result[key] = f(value, b[key], ...) end
   return make_like(result, a, 'List')
end

function tablex.imap2(f, a, b, ...)
   check_list(2, a)
   check_list(3, b)
   f = function_arg(1, f)
   local result = {}
   for i = 1, math.min(#a, #b) do result[i] = f(a[i], b[i], ...) end
   return result
end

function tablex.mapn(f, ...)
   f = function_arg(1, f)
   local lists, shortest, result = {...}, math.huge, {}
   for _, list in ipairs(lists) do shortest = math.min(shortest, #list) end
   for i = 1, shortest do
      local values = {}
      for k, list in ipairs(lists) do values[k] = list[i] end
      result[i] = f(unpack(values, 1, #lists))
   end
   return make_like(result, nil, 'List')
end

function tablex.zip(...)
   return tablex.mapn(function(...) return {...} end, ...)
end

function tablex.reduce(f, t, memo)
   check_list(2, t)
   f = function_arg(1, f)
   local first = 1
   if memo == nil then memo, first = t[1], 2 end
   for i = first, #t do memo = f(memo, t[i]) end
   return memo
end

function tablex.foreach(t, f, ...)
   check_table(1, t)
   f = function_arg(1, f)
   for key, value in pairs(t) do f(value, key, ...) end
end

function tablex.foreachi(t, f, ...)
   check_list(1, t)
   f = function_arg(1, f)
   for i = 1, #t do f(t[i], i, ...) end
end

-- f(key, value) gives a value and a key for it; without a key the value is appended.
function tablex.pairmap(f, t, ...)
   check_table(1, t)
   f = function_arg(1, f)
   local result = {}
   for key, item in pairs(t) do
      local value, new_key = f(key, item, ...)
      if new_key == nil then
         result[#result + 1] = value
      elseif result[new_key] == nil then
         result[new_key] = value
      elseif type(result[new_key]) == 'table' and getmetatable(result[new_key]) == nil then
         table.insert(result[new_key], value)
      else
         result[new_key] = {result[new_key], value}
      end
   end
   return result
end

function tablex.filter(t, condition, argument)
   check_list(1, t)
   condition = function_arg(2, condition)
   local result = {}
   for i = 1, #t do
      if condition(t[i], argument) then result[#result + 1] = t[i] end
   end
   return list_like(result, t)
end

----------------------------------------------------------------------------------------
-- Keys, values, sets.

function tablex.keys(t)
   check_table(1, t)
   local result = {}
   for key in pairs(t) do result[#result + 1] = key end
   return make_like(result, nil, 'List')
end

function tablex.values(t)
   check_table(1, t)
   local result = {}
   for _, value in pairs(t) do result[#result + 1] = value end
   return make_like(result, nil, 'List')
end

-- Positions by value; a value that is there several times has a list of them.
function tablex.index_map(t)
   check_list(1, t)
   local result = {}
   for i = 1, #t do
      local before = result[t[i]]
      if before == nil then
         result[t[i]] = i
      elseif type(before) == 'table' then
         before[#before + 1] = i
      else
         result[t[i]] = {before, i}
      end
   end
   return make_like(result, nil, 'Map')
end

function tablex.makeset(t)
   check_list(1, t)
   local result = {}
   for i = 1, #t do result[t[i]] = true end
   return make_like(result, nil, 'Set')
end

-- All keys of both tables, with the value of the second where both have one; or those keys that both
-- have, with the value of the first.
function tablex.merge(a, b, is_union)
   check_table(1, a)
   check_table(2, b)
   local result = {}
   for key, value in pairs(a) do
      if is_union or b[key] ~= nil then result[key] = value end
   end
   if is_union then
      for key, value in pairs(b) do result[key] = value end
   end
   return make_like(result, a, 'Map')
end

function tablex.union(a, b) return tablex.merge(a, b, true) end
function tablex.intersection(a, b) return tablex.merge(a, b, false) end

function tablex.difference(a, b, is_symmetric)
   check_table(1, a)
   check_table(2, b)
   local result = {}
   for key, value in pairs(a) do
      if b[key] == nil then result[key] = value end
   end
   if is_symmetric then
      for key, value in pairs(b) do
         if a[key] == nil then result[key] = value end
      end
   end
   return make_like(result, a, 'Map')
end

----------------------------------------------------------------------------------------
-- Iterators.

local function sorted_by(t, before, choose)
   local keys = tablex.keys(t)
   table.sort(keys, function(a, b) return before(choose(t, a), choose(t, b)) end)
   local i = 0
   return function()
      i = i + 1
      return keys[i], t[keys[i]]
   end
end

function tablex.sort(t, before)
   before = before and function_arg(2, before) or function(a, b) return a < b end
   return sorted_by(t, before, function(_, key) return key end)
end

function tablex.sortv(t, before)
   before = before and function_arg(2, before) or function(a, b) return a < b end
   return sorted_by(t, before, function(_, key) return t[key] end)
end

function tablex.readonly(t)
   return setmetatable({}, {
      __index = t,
      __newindex = function() error('Attempt to modify read-only table', 2) end,
      __pairs = function() return pairs(t) end,
      __len = function() return #t end,
      __metatable = false,
   })
end

return tablex
