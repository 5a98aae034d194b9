-- pl.text: paragraphs and templates.
local utils = require 'pl.utils'

local text = {}

local function lines_of(s)
   local lines = {}
   for line in (s:gsub('\n$', '') .. '\n'):gmatch '([^\n]*)\n' do lines[#lines + 1] = line end
   return lines
end

function text.indent(s, count, character)
   utils.assert_string(1, s)
   utils.assert_arg(2, count, 'number')
   local lines, space = lines_of(s), (character or ' '):rep(count)
   for i, line in ipairs(lines) do lines[i] = space .. line end
   return table.concat(lines, '\n') .. '\n'
end

-- Without the indent that all lines have; lines of space alone do not count.
function text.dedent(s)
   utils.assert_string(1, s)
   local lines, least = lines_of(s), math.huge
   for _, line in ipairs(lines) do
      local first = line:find '%S'
      if first then least = math.min(least, first) end
   end
   for i, line in ipairs(lines) do lines[i] = line:sub(least) end
   return table.concat(lines, '\n') .. '\n'
end

-- Lines of at most `width` characters; longer words stay whole unless `breaks_words`.
function text.wrap(s, width, breaks_words)
   utils.assert_string(1, s)
   width = width or 70
   local lines, line = require 'pl.List'(), ''
   local function finish()
      if line ~= '' then lines:append(line) end
      line = ''
   end
   for word in s:gsub('\n', ' '):gmatch '%S+' do
      if line ~= '' and #line + 1 + #word > width then finish() end
      line = line == '' and word or line .. ' ' .. word
      while breaks_words and #line > width do
         lines:append(line:sub(1, width))
         line = line:sub(width + 1)
      end
   end
   finish()
   return lines
end

function text.fill(s, width, breaks_words)
   return table.concat(text.wrap(s, width, breaks_words), '\n') .. '\n'
end

----------------------------------------------------------------------------------------
-- Templates: $name and ${name}; $$ is a dollar.

local Template = {}
Template.__index = Template

local function substitute(template, values, missing)
   local function replace(name)
      local value
      if type(values) == 'function' then value = values(name) else value = values[name] end
      if value == nil then return missing(name) end
      return tostring(value)
   end
   local result = template:gsub('%$%$', '\0'):gsub('%${([%w_]+)}', replace):gsub('%$([%w_]+)', replace)
   return (result:gsub('%z', '$'))
end

function Template.new(source)
   utils.assert_string(1, source)
   return setmetatable({tmpl = source}, Template)
end

function Template:substitute(values)
   return substitute(self.tmpl, values, function(name) error("not present in table '" .. name .. "'", 0) end)
end

function Template:safe_substitute(values)
   return substitute(self.tmpl, values, function() return nil end)
end

-- Lines of a value are indented like the place where it stands; values may be templates.
function Template:indent_substitute(values)
   local lines = {}
   for _, line in ipairs(lines_of(self.tmpl)) do
      local space, name = line:match '^(%s*)%$%{?([%w_]+)%}?%s*$'
      local value = name and values[name]
      if getmetatable(value) == Template then value = value:indent_substitute(values) end
      if value and (space ~= '' or tostring(value):find '\n') then
         lines[#lines + 1] = text.indent(tostring(value), #space):gsub('\n$', '')
      else
         lines[#lines + 1] = substitute(line, values, function() return nil end)
      end
   end
   return table.concat(lines, '\n') .. '\n'
end

text.Template = setmetatable(Template, {__call = function(_, source) return Template.new(source) end})

-- '%d and %s' % {1, 'x'}, and '$name' % {name = 1}.
function text.format_operator()
   getmetatable('').__mod = function(format, value)
      if value == nil then
         return format
      elseif type(value) == 'table' and getmetatable(value) == nil or type(value) == 'function' then
         if type(value) == 'table' and #value > 0 then
            local shown = {}
            for i = 1, #value do
               shown[i] = type(value[i]) == 'table' and tostring(value[i]) or value[i]
            end
            return format:format(unpack(shown))
         end
         return (format:gsub('%$(%w+)', value))
      end
      return format:format(type(value) == 'table' and tostring(value) or value)
   end
end

return text
