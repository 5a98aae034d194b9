-- pl.permute: permutations of a list, combinations of lists.
local utils = require 'pl.utils'

local permute = {}

-- Every order of the elements, one a step.
function permute.order_iter(list)
   utils.assert_arg(1, list, 'table')
   local work = {unpack(list)}
   return coroutine.wrap(function()
      local function visit(n)
         if n < 1 then return coroutine.yield {unpack(work)} end
         for i = 1, n do
            work[n], work[i] = work[i], work[n]
            visit(n - 1)
            work[n], work[i] = work[i], work[n]
         end
      end
      if #work > 0 then visit(#work) end
   end)
end

function permute.order_table(list)
   local result = {}
   for one in permute.order_iter(list) do result[#result + 1] = one end
   return result
end

-- Every choice of one element of each list, with its number in front; the first list runs fastest.
function permute.list_iter(...)
   local lists, count = {...}, select('#', ...)
   local places, number = {}, 0
   for i = 1, count do
      utils.assert_arg(i, lists[i], 'table')
      places[i] = 1
      if (lists[i].n or #lists[i]) == 0 then return function() end end
   end
   local is_done = count == 0
   return function()
      if is_done then return nil end
      number = number + 1
      local values = {}
      for i = 1, count do values[i] = lists[i][places[i]] end
      is_done = true
      for i = 1, count do
         places[i] = places[i] + 1
         if places[i] <= (lists[i].n or #lists[i]) then
            is_done = false
            break
         end
         places[i] = 1
      end
      return number, unpack(values, 1, count)
   end
end

function permute.list_table(...)
   local result, count = {}, select('#', ...)
   local step = permute.list_iter(...)
   local row = utils.pack(step())
   while row[1] ~= nil do
      result[#result + 1] = {n = count, unpack(row, 2, count + 1)}
      row = utils.pack(step())
   end
   return result
end

permute.iter, permute.table = permute.order_iter, permute.order_table

return permute
