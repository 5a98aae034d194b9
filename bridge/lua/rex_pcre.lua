-- The package `rex_pcre` of lrexlib: Perl's regular expressions.
local python = require('relume.bridge').import 'regular_expressions'

local rex = {}
local methods = {}
local metatable = {__index = methods, __tostring = function() return 'rex_pcre_regex' end}

local FLAGS = {CASELESS = 1, MULTILINE = 2, DOTALL = 4, EXTENDED = 8, ANCHORED = 16, UTF8 = 2048}

local function check_subject(subject, name)
   if type(subject) == 'number' then return tostring(subject) end
   if type(subject) ~= 'string' then
      error(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(subject)), 3)
   end
   return subject
end

local function compiled(pattern, flags)
   if getmetatable(pattern) == metatable then return pattern end
   local ok, expression = pcall(python.Expression, pattern, flags or '')
   if not ok then error((tostring(expression):match '^[^\n]*':gsub('^ValueError: ', '')), 3) end
   return setmetatable({expression = expression}, metatable)
end

-- A position as Lua's string functions take it: from the end where it is negative; nil beyond the end.
local function first_byte(subject, start)
   start = start or 1
   if start < 0 then start = math.max(#subject + start + 1, 1) end
   return start <= #subject + 1 and math.max(start, 1) or nil
end

-- What matched in each group; false for a group that took no part.
local function captures(subject, places)
   local list = {}
   for i = 3, #places, 2 do
      list[#list + 1] = places[i] and subject:sub(places[i], places[i + 1])
   end
   return list
end

-- The groups, or all that matched where there are none.
local function matched(subject, places)
   if #places == 2 then return subject:sub(places[1], places[2]) end
   return unpack(captures(subject, places))
end

local function search(subject, pattern, start, flags)
   local from = first_byte(subject, start)
   return from and compiled(pattern, flags).expression:find(subject, from)
end

function rex.new(pattern, flags) return compiled(pattern, flags) end

function rex.find(subject, pattern, start, flags)
   subject = check_subject(subject, 'find')
   local places = search(subject, pattern, start, flags)
   if not places then return nil end
   return places[1], places[2], unpack(captures(subject, places))
end

function rex.match(subject, pattern, start, flags)
   subject = check_subject(subject, 'match')
   local places = search(subject, pattern, start, flags)
   if not places then return nil end
   return matched(subject, places)
end

function rex.count(subject, pattern, flags)
   return #compiled(pattern, flags).expression:find_all(check_subject(subject, 'count'))
end

function rex.gmatch(subject, pattern, flags)
   subject = check_subject(subject, 'gmatch')
   local all, i = compiled(pattern, flags).expression:find_all(subject), 0
   return function()
      i = i + 1
      if all[i] then return matched(subject, all[i]) end
   end
end

-- The sections between matches, each with what the match after it gives.
function rex.split(subject, pattern, flags)
   subject = check_subject(subject, 'split')
   local all = compiled(pattern, flags).expression:find_all(subject)
   local i, from = 0, 1
   return function()
      if not from then return nil end
      repeat i = i + 1 until not all[i] or all[i][2] >= all[i][1] or all[i][1] > from
      local places = all[i]
      if not places then
         local rest = subject:sub(from)
         from = nil
         return rest, false
      end
      local section = subject:sub(from, places[1] - 1)
      from = places[2] + 1
      return section, matched(subject, places)
   end
end

-- What the place of a match gets: nil or false leaves it.
local replacements = {
   string = function(template, subject, places)
      local groups = captures(subject, places)
      return (template:gsub('%%(.)', function(c)
         if c == '0' then return subject:sub(places[1], places[2]) end
         if not c:find '%d' then return c end
         if c == '1' and #groups == 0 then return subject:sub(places[1], places[2]) end
         local group = groups[tonumber(c)]
         if group == nil then error('invalid capture index in replacement string', 0) end
         return group or ''
      end))
   end,
   table = function(values, subject, places) return values[(matched(subject, places))] end,
   ['function'] = function(f, subject, places) return f(matched(subject, places)) end,
}
replacements.number = function(value, ...) return replacements.string(tostring(value), ...) end

-- The text with matches replaced, at most `most` of them; how many matched and how many were replaced.
function rex.gsub(subject, pattern, replacement, most, flags)
   subject = check_subject(subject, 'gsub')
   local replace = replacements[type(replacement)]
   if not replace then
      error(("bad argument #3 to 'gsub' (string, table or function expected, got %s)"):format(type(replacement)), 2)
   end
   local parts, from, matches, replaced = {}, 1, 0, 0
   for i, places in ipairs(compiled(pattern, flags).expression:find_all(subject)) do
      if most and i > most then break end
      matches = matches + 1
      local value = replace(replacement, subject, places)
      parts[#parts + 1] = subject:sub(from, places[1] - 1)
      if value then
         replaced = replaced + 1
         parts[#parts + 1] = tostring(value)
      else
         parts[#parts + 1] = subject:sub(places[1], places[2])
      end
      from = places[2] + 1
   end
   parts[#parts + 1] = subject:sub(from)
   return table.concat(parts), matches, replaced
end

function rex.flags() return FLAGS end
function rex.version() return '8.0 (on Python re)' end

----------------------------------------------------------------------------------------
-- Methods of a compiled pattern.

for _, name in ipairs {'find', 'match', 'count', 'gmatch', 'split', 'gsub'} do
   methods[name] = function(self, subject, ...)
      return rex[name](subject, self, ...)
   end
end

-- Where it matches, and a table of the groups, those with names by these too.
function methods:tfind(subject, start)
   subject = check_subject(subject, 'tfind')
   local places = search(subject, self, start)
   if not places then return nil end
   local groups = captures(subject, places)
   for name, number in pairs(self.expression:group_names()) do groups[name] = groups[number] end
   return places[1], places[2], groups
end

-- Where it matches, and a table of where each group does.
function methods:exec(subject, start)
   subject = check_subject(subject, 'exec')
   local places = search(subject, self, start)
   if not places then return nil end
   return places[1], places[2], {unpack(places, 3)}
end

function methods:fullinfo() return {CAPTURECOUNT = self.expression:group_count()} end

return rex
