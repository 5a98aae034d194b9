-- The `torchx` package: more functions of torch.
require 'torch'
require 'paths'
local bridge = require 'relume.bridge'
local dir = require 'pl.dir'

torch.concat = torch.concat or function(...)
   local result, tensors, dim = ...
   if type(result) == 'table' then
      result, tensors, dim = nil, result, tensors
   end
   if result then return torch.cat(result, tensors, dim or 1) end
   return torch.cat(tensors, dim or 1)
end

-- The positions of a value among all elements, row by row; for dim 2, a list of columns for each row.
function torch.find(tensor, value, dim)
   if dim == nil then
      local found = {}
      local flat = tensor:contiguous():view(-1)
      for i = 1, flat:nElement() do
         if flat[i] == value then found[#found + 1] = i end
      end
      return found
   end
   if dim ~= 2 or tensor:dim() ~= 2 then error('torch.find: dim must be 2, for a matrix', 2) end
   local rows = {}
   for i = 1, tensor:size(1) do rows[i] = torch.find(tensor[i], value) end
   return rows
end

-- torch.group([values, indices,] tensor [, same] [, descending]): the elements sorted, and for each run of
-- equal ones its part of the values and of the indices.
function torch.group(values, indices, tensor, same, descending)
   if not torch.isTensor(indices) then
      values, indices, tensor, same, descending = values.new(), torch.LongTensor(), values, indices, tensor
   end
   same = same or function(first, value) return first == value end
   torch.sort(values, indices, tensor, descending or false)
   local groups, start, count = {}, 1, values:size(1)
   for i = 2, count + 1 do
      if i > count or not same(values[start], values[i]) then
         groups[values[start]] = {val = values:narrow(1, start, i - start), idx = indices:narrow(1, start, i - start)}
         start = i
      end
   end
   return groups, values, indices
end

-- Calls f on all pairs of tensors of two trees; a missing one is made from its prototype, or of the type
-- of its partner.
function torch.remap(first, second, f, prototype_1, prototype_2)
   if type(first) == 'table' or type(second) == 'table' then
      if type(first) ~= 'table' then first = {first} end
      if type(second) ~= 'table' then second = {second} end
      for key in pairs(#first > 0 and first or second) do
         first[key], second[key] = torch.remap(first[key], second[key], f, prototype_1, prototype_2)
      end
      return first, second
   end
   first = first or (prototype_1 or second).new()
   second = second or (prototype_2 or first).new()
   f(first, second)
   return first, second
end

-- The largest element found by going down a tree: at each level the elements fall into `sizes[level]`
-- parts, and the part of the largest sum is taken. Its value and place.
function torch.treemax(values, sizes)
   local first, count = 1, values:size(1)
   for _, parts in ipairs(sizes) do
      count = count / parts
      local sums = values:narrow(1, first, count * parts):view(parts, count):sum(2)
      local _, best = sums:max(1)
      first = first + (best[1][1] - 1) * count
   end
   return values[first], first
end

-- result:concat(tensors [, dimension])
for _, class in ipairs {'Byte', 'Char', 'Short', 'Int', 'Long', 'Float', 'Double'} do
   torch.getmetatable('torch.' .. class .. 'Tensor').concat = torch.concat
end

-- Draws numbers with given probabilities, each in constant time (Walker 1974).
if not torch.getmetatable 'torch.AliasMultinomial' then
   local AliasMultinomial = torch.class 'torch.AliasMultinomial'

   -- Each place keeps its own number with chance q, and gives that in J otherwise.
   function AliasMultinomial:__init(probabilities)
      local count = probabilities:nElement()
      self.J, self.q = torch.range(1, count):long(), probabilities:double():view(-1) * count
      self.q:div(probabilities:sum())
      local small, large = {}, {}
      for i = 1, count do table.insert(self.q[i] < 1 and small or large, i) end
      while #small > 0 and #large > 0 do
         local giver, taker = large[#large], table.remove(small)
         self.J[taker] = giver
         self.q[giver] = self.q[giver] - (1 - self.q[taker])
         if self.q[giver] < 1 then table.insert(small, table.remove(large)) end
      end
   end

   function AliasMultinomial:draw()
      local place = torch.random(1, self.J:size(1))
      return torch.bernoulli(math.min(1, self.q[place])) == 1 and place or self.J[place]
   end

   function AliasMultinomial:batchdraw(output)
      return output:apply(function() return self:draw() end)
   end
end

torch.md5 = require 'md5'

----------------------------------------------------------------------------------------
-- paths.indexdir: the files of folders, by number.

local Index = {}
Index.__index = Index

function Index:size() return #self.names end
function Index:filename(i) return self.names[i] end

local function as_list(value) return type(value) == 'table' and value or {value} end

local function has_extension(name, extensions)
   if #extensions == 0 then return true end
   for _, extension in ipairs(extensions) do
      if name:lower():match('%.' .. extension:lower() .. '$') then return true end
   end
   return false
end

-- paths.indexdir(folders [, extensions, use_cache, ignored]): `ignored` is a shell pattern. Listing is fast
-- enough here that nothing is cached.
function paths.indexdir(folders, extensions, _, ignored)
   local names = {}
   for _, folder in ipairs(as_list(folders)) do
      for name in paths.files(folder) do
         local path = paths.concat(folder, name)
         local is_ignored = ignored and dir.fnmatch(name, ignored)
         if paths.filep(path) and has_extension(name, as_list(extensions)) and not is_ignored then
            names[#names + 1] = path
         end
      end
   end
   table.sort(names)
   return setmetatable({names = names}, Index)
end

return torch
