-- pl.template: text with Lua in it: lines that begin with '#' are code, $(x) is a value.
local utils = require 'pl.utils'

local template = {}

-- Appends the source that writes one piece of text with $(...) in it.
local function add_text(out, text, options)
   local escape, brackets = utils.escape(options.inline_escape), '%b' .. options.inline_brackets
   local place = 1
   while true do
      local first, last, code = text:find(escape .. '(' .. brackets .. ')', place)
      if not first then break end
      if first > place then out[#out + 1] = ('_put(%q)'):format(text:sub(place, first - 1)) end
      out[#out + 1] = '_put(_text(' .. code:sub(2, -2) .. '))'
      place = last + 1
   end
   if place <= #text then out[#out + 1] = ('_put(%q)'):format(text:sub(place)) end
end

local function source_of(text, options)
   local out = {'local _put, _text = ... '}
   local code_line = '^%s*' .. utils.escape(options.escape)
   for line in text:gmatch '[^\n]*\n?' do
      if line:find(code_line) then
         out[#out + 1] = line:gsub(code_line, '')
         if not line:find '\n' then out[#out + 1] = '\n' end
      elseif line ~= '' then
         if options.newline then line = line:gsub('\n', options.newline == true and '' or options.newline) end
         local pieces = {}
         add_text(pieces, line, options)
         out[#out + 1] = table.concat(pieces, ' ') .. ' '
      end
   end
   return table.concat(out)
end

local Compiled = {}
Compiled.__index = Compiled

function Compiled:render(environment, parent, wants_source)
   environment = environment or {}
   if parent then setmetatable(environment, {__index = parent}) end
   setfenv(self.chunk, environment)
   local parts = {}
   local function put(text) parts[#parts + 1] = text end
   local function text_of(value) return value == nil and '' or tostring(value) end
   local ok, message = pcall(self.chunk, put, text_of)
   local source = (wants_source or self.debug) and self.source or nil
   if not ok then return nil, message, source end
   return table.concat(parts), nil, source
end

local defaults = {chunk_name = 'TMP', escape = '#', inline_escape = '$', inline_brackets = '()'}

function template.compile(text, options)
   options = setmetatable(options or {}, {__index = defaults})
   local source = source_of(text, options)
   local chunk, message = loadstring(source, '=' .. options.chunk_name)
   if not chunk then return nil, message, options.debug and source or nil end
   return setmetatable({chunk = chunk, source = source, debug = options.debug}, Compiled)
end

function template.substitute(text, environment)
   environment = environment or {}
   local compiled, message, source = template.compile(text, {
      chunk_name = rawget(environment, '_chunk_name') or defaults.chunk_name,
      escape = rawget(environment, '_escape') or defaults.escape,
      inline_escape = rawget(environment, '_inline_escape') or defaults.inline_escape,
      inline_brackets = rawget(environment, '_brackets') or defaults.inline_brackets,
      debug = rawget(environment, '_debug'),
   })
   if not compiled then return nil, message, source end
   return compiled:render(environment, rawget(environment, '_parent'))
end

return template
