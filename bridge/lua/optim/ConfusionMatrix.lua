-- optim.ConfusionMatrix: how often each class was predicted for each class; rows are the targets.
local ConfusionMatrix = torch.class 'optim.ConfusionMatrix'

-- (count [, names]) or (names)
function ConfusionMatrix:__init(nclasses, classes)
   if type(nclasses) == 'table' then
      classes, nclasses = nclasses, #nclasses
   end
   self.mat = torch.LongTensor(nclasses, nclasses):zero()
   self.valids = torch.FloatTensor(nclasses):zero()
   self.unionvalids = torch.FloatTensor(nclasses):zero()
   self.nclasses = nclasses
   self.totalValid, self.averageValid, self.averageUnionValid = 0, 0, 0
   self.classes = classes or {}
   self._mat_flat = self.mat:view(-1)
   self._target, self._prediction = torch.FloatTensor(), torch.FloatTensor()
end

-- A class given as a number, or as the largest of its scores.
local function class_of(value)
   if type(value) == 'number' then return value end
   local _, position = value:max(1)
   return position[1]
end

function ConfusionMatrix:_add(prediction, target)
   if target < 1 then return end  -- unknown
   if not (prediction >= 1 and prediction <= self.nclasses and target <= self.nclasses) then
      error(('ConfusionMatrix: classes go from 1 to %d, got prediction %s and target %s'):format(
         self.nclasses, tostring(prediction), tostring(target)), 3)
   end
   self.mat[target][prediction] = self.mat[target][prediction] + 1
end

function ConfusionMatrix:add(prediction, target)
   self:_add(class_of(prediction), class_of(target))
end

-- Classes as a list of numbers: one each, or scores of all in a row.
local function classes_of(values)
   if values:dim() == 2 and values:size(2) > 1 then
      local _, positions = values:max(2)
      values = positions
   end
   return values:contiguous():view(-1):totable()
end

function ConfusionMatrix:batchAdd(predictions, targets)
   local predicted, wanted = classes_of(predictions), classes_of(targets)
   if #predicted ~= #wanted then
      error(('ConfusionMatrix: %d predictions, %d targets'):format(#predicted, #wanted), 2)
   end
   for i, prediction in ipairs(predicted) do self:_add(prediction, wanted[i]) end
end

function ConfusionMatrix:zero()
   self.mat:zero()
   self.valids:zero()
   self.unionvalids:zero()
   self.totalValid, self.averageValid, self.averageUnionValid = 0, 0, 0
end

local function is_number(x) return x == x end

-- The percentages, from the counts.
function ConfusionMatrix:updateValids()
   local counts = self.mat:float()
   local right = torch.diag(counts)
   local rows, columns = counts:sum(2):view(-1), counts:sum(1):view(-1)
   torch.cdiv(self.valids, right, rows)
   torch.cdiv(self.unionvalids, right, rows + columns - right)
   local total, unions, occurring = 0, 0, 0
   for i = 1, self.nclasses do
      if is_number(self.valids[i]) then
         total, occurring = total + self.valids[i], occurring + 1
      end
      if is_number(self.unionvalids[i]) then unions = unions + self.unionvalids[i] end
   end
   self.averageValid, self.averageUnionValid = total / occurring, unions / occurring
   self.totalValid = torch.diag(self.mat):sum() / self.mat:sum()
end

-- False reject and false accept rates per class (-1 where a class does not occur), then the same for
-- the classes that occur only.
function ConfusionMatrix:farFrr()
   local counts = self.mat:double()
   local n = self.nclasses
   local rows = counts:sum(2):view(-1)
   local occurring = 0
   for i = 1, n do
      if rows[i] > 0 then
         counts[i]:div(rows[i])
         occurring = occurring + 1
      else
         counts[i]:zero()
      end
   end
   local rejected, accepted = torch.DoubleTensor(n):fill(-1), torch.DoubleTensor(n):fill(-1)
   local only_rejected, only_accepted = {}, {}
   for i = 1, n do
      if rows[i] > 0 then
         rejected[i] = 1 - counts[i][i]
         accepted[i] = (counts:select(2, i):sum() - counts[i][i]) / (occurring - 1)
         table.insert(only_rejected, rejected[i])
         table.insert(only_accepted, accepted[i])
      end
   end
   return rejected, accepted, torch.DoubleTensor(only_rejected), torch.DoubleTensor(only_accepted)
end

function ConfusionMatrix:__tostring__()
   self:updateValids()
   local most = self.mat:max()
   local width = math.max(8, 1 + math.ceil(math.log10(math.max(1, most))))
   local lines = {'ConfusionMatrix:'}
   for i = 1, self.nclasses do
      local words = {i == 1 and '[[' or ' ['}
      for j = 1, self.nclasses do
         words[#words + 1] = ('%' .. width .. 'd'):format(self.mat[i][j])
      end
      words[#words + 1] = i == self.nclasses and ']]  ' or ']   '
      words[#words + 1] = ('%.3f%% '):format(100 * self.valids[i])
      if self.classes[1] then words[#words + 1] = '\t[class: ' .. (self.classes[i] or '') .. ']' end
      lines[#lines + 1] = table.concat(words)
   end
   lines[#lines + 1] = (' + average row correct: %s%% '):format(tostring(100 * self.averageValid))
   lines[#lines + 1] = (' + average rowUcol correct (VOC measure): %s%% '):format(
      tostring(100 * self.averageUnionValid))
   lines[#lines + 1] = (' + global correct: %s%%'):format(tostring(100 * self.totalValid))
   return table.concat(lines, '\n')
end

-- The matrix as a picture, each count as part of the largest one.
function ConfusionMatrix:render(sort_mode, display, block)
   local size = block or 25
   local picture = torch.FloatTensor(self.nclasses * size, self.nclasses * size)
   local largest = math.max(1, self.mat:max())
   for i = 1, self.nclasses do
      for j = 1, self.nclasses do
         picture:sub((i - 1) * size + 1, i * size, (j - 1) * size + 1, j * size):fill(
            self.mat[i][j] / largest)
      end
   end
   return picture
end
