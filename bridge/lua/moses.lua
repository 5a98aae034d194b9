-- The functions of package Moses (its versions 1.x): callbacks get (key, value, ...).
local tablex = require 'pl.tablex'

local moses = {}

local function is_table(value) return type(value) == 'table' end

-- Positions first, in order; then other keys.
local function entries(t)
   local list = {}
   for i, value in ipairs(t) do list[i] = {i, value} end
   local length = #list
   for key, value in pairs(t) do
      local is_listed = type(key) == 'number' and key >= 1 and key <= length and key % 1 == 0
      if not is_listed then list[#list + 1] = {key, value} end
   end
   return list
end

-- Does a value satisfy a condition: a function of (key, value), or a value to be equal to?
local function satisfies(condition, key, value, ...)
   if type(condition) == 'function' then return condition(key, value, ...) end
   return moses.isEqual(condition, value)
end

----------------------------------------------------------------------------------------
-- Tables.

function moses.each(t, f, ...)
   for _, entry in ipairs(entries(t)) do f(entry[1], entry[2], ...) end
end

function moses.eachi(t, f, ...)
   for i, value in ipairs(t) do f(i, value, ...) end
end

function moses.at(t, ...)
   local result = {}
   for _, key in ipairs {...} do result[#result + 1] = t[key] end
   return result
end

function moses.map(t, f, ...)
   local result = {}
   for _, entry in ipairs(entries(t)) do result[entry[1]] = f(entry[1], entry[2], ...) end
   return result
end

function moses.reduce(t, f, state)
   for _, entry in ipairs(entries(t)) do
      if state == nil then state = entry[2] else state = f(state, entry[2]) end
   end
   return state
end

function moses.reduceRight(t, f, state) return moses.reduce(moses.reverse(t), f, state) end

function moses.mapReduce(t, f, state)
   local result = {}
   for _, entry in ipairs(entries(t)) do
      if state == nil then state = entry[2] else state = f(state, entry[2]) end
      result[entry[1]] = state
   end
   return result
end

function moses.include(t, condition)
   for _, entry in ipairs(entries(t)) do
      if satisfies(condition, entry[1], entry[2]) then return true end
   end
   return false
end

function moses.contains(t, value) return moses.include(t, value) end

function moses.detect(t, condition)
   for _, entry in ipairs(entries(t)) do
      if satisfies(condition, entry[1], entry[2]) then return entry[1] end
   end
end

function moses.select(t, f, ...)
   local result = {}
   for _, entry in ipairs(entries(t)) do
      if f(entry[1], entry[2], ...) then
         if type(entry[1]) == 'number' then
            result[#result + 1] = entry[2]
         else
            result[entry[1]] = entry[2]
         end
      end
   end
   return result
end

function moses.reject(t, f, ...)
   local more = {...}
   return moses.select(t, function(key, value) return not f(key, value, unpack(more)) end)
end

function moses.all(t, f, ...)
   for _, entry in ipairs(entries(t)) do
      if not f(entry[1], entry[2], ...) then return false end
   end
   return true
end

function moses.count(t, value)
   local total = 0
   for _, part in pairs(t) do
      if value == nil or moses.isEqual(part, value) then total = total + 1 end
   end
   return total
end

function moses.countf(t, f, ...) return moses.size(moses.select(t, f, ...)) end

function moses.invoke(t, method, ...)
   local more = {...}
   return moses.map(t, function(_, value)
      local f = type(method) == 'function' and method or value[method]
      return f(value, unpack(more))
   end)
end

function moses.pluck(t, name)
   local result = {}
   for _, entry in ipairs(entries(t)) do
      if is_table(entry[2]) then result[#result + 1] = entry[2][name] end
   end
   return result
end

local function extreme(is_better)
   return function(t, transform)
      local best, best_rank
      for _, entry in ipairs(entries(t)) do
         local rank = transform and transform(entry[2]) or entry[2]
         if best_rank == nil or is_better(rank, best_rank) then best, best_rank = entry[2], rank end
      end
      return best_rank
   end
end
moses.max = extreme(function(a, b) return a > b end)
moses.min = extreme(function(a, b) return a < b end)

function moses.shuffle(t)
   local result = moses.values(t)
   for i = #result, 2, -1 do
      local j = math.random(i)
      result[i], result[j] = result[j], result[i]
   end
   return result
end

function moses.sort(t, f)
   table.sort(t, f)
   return t
end

function moses.groupBy(t, f, ...)
   local groups = {}
   for _, entry in ipairs(entries(t)) do
      local key = f(entry[1], entry[2], ...)
      groups[key] = groups[key] or {}
      table.insert(groups[key], entry[2])
   end
   return groups
end

function moses.countBy(t, f, ...)
   return moses.map(moses.groupBy(t, f, ...), function(_, group) return #group end)
end

function moses.size(t, ...)
   if not is_table(t) then return t == nil and 0 or 1 + select('#', ...) end
   local total = 0
   for _ in pairs(t) do total = total + 1 end
   return total
end

function moses.same(a, b)
   return moses.all(a, function(_, value) return moses.include(b, value) end)
      and moses.all(b, function(_, value) return moses.include(a, value) end)
end

----------------------------------------------------------------------------------------
-- Lists.

function moses.toArray(...) return {...} end

function moses.indexOf(list, value)
   for i, part in ipairs(list) do
      if moses.isEqual(part, value) then return i end
   end
end

function moses.lastIndexOf(list, value)
   for i = #list, 1, -1 do
      if moses.isEqual(list[i], value) then return i end
   end
end

function moses.find(list, value, from)
   for i = from or 1, #list do
      if moses.isEqual(list[i], value) then return i end
   end
end

function moses.reverse(list)
   local result = {}
   for i = #list, 1, -1 do result[#result + 1] = list[i] end
   return result
end

function moses.slice(list, first, last)
   local result = {}
   for i = first or 1, math.min(last or #list, #list) do result[#result + 1] = list[i] end
   return result
end

function moses.first(list, count) return moses.slice(list, 1, count or 1) end
function moses.last(list, count) return moses.slice(list, math.max(1, #list - (count or #list - 1) + 1)) end
function moses.initial(list, count) return moses.slice(list, 1, #list - (count or 1)) end
function moses.rest(list, index) return moses.slice(list, index or 1) end

function moses.push(list, ...)
   for _, value in ipairs {...} do list[#list + 1] = value end
   return list
end

function moses.addTop(list, ...)
   for _, value in ipairs {...} do table.insert(list, 1, value) end
   return list
end

function moses.pop(list, count)
   local taken = {}
   for _ = 1, math.min(count or 1, #list) do taken[#taken + 1] = table.remove(list, 1) end
   return unpack(taken)
end

function moses.unshift(list, count)
   local taken = {}
   for _ = 1, math.min(count or 1, #list) do taken[#taken + 1] = table.remove(list) end
   return unpack(taken)
end

function moses.pull(list, ...)
   for _, value in ipairs {...} do
      for i = #list, 1, -1 do
         if moses.isEqual(list[i], value) then table.remove(list, i) end
      end
   end
   return list
end

function moses.compact(t)
   return moses.select(t, function(_, value) return value and true or false end)
end

function moses.flatten(list, shallow)
   local result = {}
   for _, value in ipairs(list) do
      if is_table(value) then
         moses.push(result, unpack(shallow and value or moses.flatten(value)))
      else
         result[#result + 1] = value
      end
   end
   return result
end

function moses.unique(list)
   local result = {}
   for _, value in ipairs(list) do
      if not moses.include(result, value) then result[#result + 1] = value end
   end
   return result
end

function moses.union(...) return moses.unique(moses.flatten({...}, true)) end

function moses.difference(list, other)
   return moses.reject(list, function(_, value) return moses.include(other or {}, value) end)
end

function moses.intersection(list, ...)
   local others = {...}
   return moses.select(moses.unique(list), function(_, value)
      return moses.all(others, function(_, other) return moses.include(other, value) end)
   end)
end

function moses.append(first, second) return moses.push(moses.push({}, unpack(first)), unpack(second)) end

function moses.zip(...)
   local lists, result = {...}, {}
   local longest = 0
   for _, list in ipairs(lists) do longest = math.max(longest, #list) end
   for i = 1, longest do result[i] = moses.pluck(lists, i) end
   return result
end

function moses.range(first, last, step)
   if not last then first, last = 1, first end
   local result = {}
   for value = first, last, step or (first <= last and 1 or -1) do result[#result + 1] = value end
   return result
end

function moses.rep(value, count)
   local result = {}
   for i = 1, count do result[i] = value end
   return result
end

function moses.concat(list, separator, first, last)
   return table.concat(moses.map(list, function(_, value) return tostring(value) end), separator, first, last)
end

function moses.invert(list)
   local result = {}
   for key, value in pairs(list) do result[value] = key end
   return result
end

-- An iterator over parts of `count` values.
function moses.partition(list, count)
   local place = 1
   return function()
      if place > #list then return nil end
      local part = moses.slice(list, place, place + (count or 1) - 1)
      place = place + (count or 1)
      return part
   end
end

----------------------------------------------------------------------------------------
-- Functions.

function moses.identity(value) return value end

function moses.once(f)
   local results
   return function(...)
      results = results or {f(...)}
      return unpack(results)
   end
end

function moses.memoize(f, key_of)
   local known = {}
   return function(...)
      local key = (key_of or moses.identity)(...)
      if known[key] == nil then known[key] = f(...) end
      return known[key]
   end
end

function moses.compose(...)
   local functions = {...}
   return function(...)
      local results = {...}
      for i = #functions, 1, -1 do results = {functions[i](unpack(results))} end
      return unpack(results)
   end
end

function moses.bind(f, value)
   return function(...) return f(value, ...) end
end

function moses.complement(f)
   return function(...) return not f(...) end
end

function moses.times(count, f, ...)
   local results = {}
   for i = 1, count do results[i] = f(i, ...) end
   return results
end

----------------------------------------------------------------------------------------
-- Objects.

function moses.keys(t)
   local result = {}
   for _, entry in ipairs(entries(t)) do result[#result + 1] = entry[1] end
   return result
end

function moses.values(t)
   local result = {}
   for _, entry in ipairs(entries(t)) do result[#result + 1] = entry[2] end
   return result
end

function moses.extend(target, ...)
   for _, source in ipairs {...} do
      for key, value in pairs(source) do target[key] = value end
   end
   return target
end

function moses.clone(t, shallow)
   if not is_table(t) then return t end
   return moses.map(t, function(_, value)
      return is_table(value) and not shallow and moses.clone(value) or value
   end)
end

function moses.has(t, key) return t[key] ~= nil end

function moses.pick(t, ...)
   local result = {}
   for _, key in ipairs(moses.flatten {...}) do result[key] = t[key] end
   return result
end

function moses.omit(t, ...)
   local result = moses.extend({}, t)
   for _, key in ipairs(moses.flatten {...}) do result[key] = nil end
   return result
end

function moses.isEqual(a, b) return tablex.deepcompare(a, b) end

moses.isTable = is_table
function moses.isString(value) return type(value) == 'string' end
function moses.isFunction(value) return type(value) == 'function' end
function moses.isNumber(value) return type(value) == 'number' end
function moses.isBoolean(value) return type(value) == 'boolean' end
function moses.isNil(value) return value == nil end
function moses.isNaN(value) return moses.isNumber(value) and value ~= value end
function moses.isFinite(value) return moses.isNumber(value) and value > -math.huge and value < math.huge end
function moses.isInteger(value) return moses.isNumber(value) and value % 1 == 0 end
function moses.isArray(value) return is_table(value) and moses.size(value) == #value end
function moses.isEmpty(value) return value == nil or value == '' or (is_table(value) and next(value) == nil) end

local last_id = 0
function moses.uniqueId(template)
   last_id = last_id + 1
   if type(template) == 'function' then return template(last_id) end
   return template and template:format(last_id) or last_id
end

-- Other names of the same.
moses.forEach, moses.forEachi, moses.collect, moses.foldl = moses.each, moses.eachi, moses.map, moses.reduce
moses.inject, moses.foldr, moses.any, moses.some = moses.reduce, moses.reduceRight, moses.include, moses.include
moses.filter, moses.every, moses.uniq, moses.head = moses.select, moses.all, moses.unique, moses.first
moses.take, moses.tail, moses.sub, moses.shift = moses.first, moses.rest, moses.slice, moses.pop
moses.without, moses.cache, moses.mirror, moses.join = moses.difference, moses.memoize, moses.invert, moses.concat

return moses
