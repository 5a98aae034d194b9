-- pl.stringio: strings as files.
local stringio = {}

local Writer = {}
Writer.__index = Writer

function stringio.create() return setmetatable({parts = {}}, Writer) end

function Writer:write(...)
   for i = 1, select('#', ...) do self.parts[#self.parts + 1] = tostring((select(i, ...))) end
end
function Writer:writef(format, ...) self:write(format:format(...)) end
function Writer:value() return table.concat(self.parts) end
function Writer.close() end
function Writer.seek() end
Writer.__tostring = Writer.value

local Reader = {}
Reader.__index = Reader

function stringio.open(text) return setmetatable({text = text, place = 1}, Reader) end

local function read_line(self, keeps_end)
   if self.place > #self.text then return nil end
   local last = self.text:find('\n', self.place, true)
   local line = self.text:sub(self.place, (last or #self.text + 1) - (keeps_end and last and 0 or 1))
   self.place = (last or #self.text) + 1
   return line
end

local function read_one(self, format)
   if type(format) == 'number' then
      local part = self.text:sub(self.place, self.place + format - 1)
      self.place = self.place + format
      return part ~= '' and part or nil
   end
   local kind = format:gsub('^%*', ''):sub(1, 1)
   if kind == 'l' then return read_line(self) end
   if kind == 'L' then return read_line(self, true) end
   if kind == 'a' then
      local rest = self.text:sub(self.place)
      self.place = #self.text + 1
      return rest
   end
   local first, last, number = self.text:find('^%s*([%+%-%d%.]+[eE]?[%+%-%d]*)', self.place)
   if not first or not tonumber(number) then return nil end
   self.place = last + 1
   return tonumber(number)
end

function Reader:read(...)
   if select('#', ...) == 0 then return read_line(self) end
   local results, count = {}, select('#', ...)
   for i = 1, count do results[i] = read_one(self, (select(i, ...))) end
   return unpack(results, 1, count)
end

function Reader:lines(...)
   local formats, count = {...}, select('#', ...)
   return function() return self:read(unpack(formats, 1, count)) end
end

function Reader:seek(whence, offset)
   local base = {set = 1, cur = self.place, ['end'] = #self.text + 1}
   self.place = base[whence or 'cur'] + (offset or 0)
   return self.place - 1
end
function Reader:close() self.text = nil end

return stringio
