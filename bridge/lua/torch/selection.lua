-- The k-th smallest of some numbers by selection around pivots. Which of equal numbers ends up where is
-- that of Hoare's scheme with the median of three as the pivot, and shows in the positions given.
local selection = {}

-- Orders `values` (an array of C, from 0) so far that place `k` holds its k-th smallest, what is in front is
-- not larger and what is behind not smaller; `places` moves along.
function selection.select(values, places, count, k)
   local function swap(i, j)
      values[i], values[j] = values[j], values[i]
      places[i], places[j] = places[j], places[i]
   end
   local low, high = 0, count - 1
   while high > low + 1 do
      local middle = math.floor((low + high) / 2)
      swap(middle, low + 1)
      if values[low + 1] > values[high] then swap(low + 1, high) end
      if values[low] > values[high] then swap(low, high) end
      if values[low + 1] > values[low] then swap(low + 1, low) end
      local i, j, pivot = low + 1, high, values[low]
      while true do
         repeat i = i + 1 until not (values[i] < pivot)
         repeat j = j - 1 until not (values[j] > pivot)
         if j < i then break end
         swap(i, j)
      end
      swap(low, j)
      if j <= k then low = i end
      if j >= k then high = j - 1 end
   end
   if high == low + 1 and values[low] > values[high] then swap(low, high) end
end

return selection
