-- Usage and help messages.
local messages = {}

local defaults = {
   usage_max_width = 70, usage_margin = 7, help_usage_margin = 3, help_description_margin = 25,
   help_vertical_space = 0,
}

-- A property of a parser, or of the parser that it is a command of.
local function layout(parser, name)
   while parser do
      if parser.properties[name] ~= nil then return parser.properties[name] end
      parser = parser.parent
   end
   return defaults[name]
end

----------------------------------------------------------------------------------------
-- Usage.

local function usage_of(element)
   local text = table.concat(element:placeholders(), ' ')
   if element.kind == 'argument' then
      return element.default_for(element, 'u') and element.least > 0 and '[' .. text .. ']' or text
   end
   text = element.first_name .. (text ~= '' and ' ' .. text or '')
   local is_required = element.least_uses > 0 and not element:default_for 'u'
   return is_required and text or '[' .. text .. ']'
end

local function bare_usage(element)
   return (usage_of(element):gsub('^%[(.*)%]$', '%1'))
end

local function has_argument(group)
   for _, element in ipairs(group) do if element.kind == 'argument' then return true end end
   return false
end

-- The words of a usage message: options, arguments, options that may take more words than they must,
-- commands. Elements of which only one can be used stand together.
local function usage_words(parser)
   local words, is_done = {}, {}
   local function add_group(group)
      local parts = {}
      for _, element in ipairs(group) do
         if not is_done[element] and not element.properties.hidden then
            parts[#parts + 1] = #group > 1 and '[' .. bare_usage(element) .. ']' or usage_of(element)
            is_done[element] = true
         end
      end
      if #parts > 0 then words[#words + 1] = '(' .. table.concat(parts, ' | ') .. ')' end
   end
   local function add(element)
      if is_done[element] or element.properties.hidden then return end
      is_done[element] = true
      words[#words + 1] = usage_of(element)
   end
   for _, group in ipairs(parser.mutexes) do if not has_argument(group) then add_group(group) end end
   local takes_more = {}
   for _, option in ipairs(parser.options) do
      local in_group = false
      for _, group in ipairs(parser.mutexes) do
         for _, element in ipairs(group) do in_group = in_group or element == option end
      end
      if not in_group and option.least == option.most then add(option) end
      if not in_group and option.least ~= option.most then takes_more[#takes_more + 1] = option end
   end
   for _, argument in ipairs(parser.arguments) do
      for _, group in ipairs(parser.mutexes) do
         for _, element in ipairs(group) do if element == argument then add_group(group) end end
      end
      add(argument)
   end
   for _, option in ipairs(takes_more) do add(option) end
   if #parser.commands > 0 then
      words[#words + 1] = parser.properties.require_command == false and '[<command>]' or '<command>'
      words[#words + 1] = '...'
   end
   return words
end

local function full_name(parser)
   local name = parser.first_name
   return parser.parent and full_name(parser.parent) .. ' ' .. name or name
end

function messages.usage(parser)
   if parser.properties.usage then return parser.properties.usage end
   local width, margin = layout(parser, 'usage_max_width'), (' '):rep(layout(parser, 'usage_margin'))
   local lines, line = {}, 'Usage: ' .. full_name(parser)
   for _, word in ipairs(usage_words(parser)) do
      if #line + 1 + #word > width then
         lines[#lines + 1] = line
         line = margin .. word
      else
         line = line .. ' ' .. word
      end
   end
   lines[#lines + 1] = line
   return table.concat(lines, '\n')
end

----------------------------------------------------------------------------------------
-- Help.

-- The left column: one line for each name of an option that takes arguments, if there are several.
local function labels(element)
   if element.kind == 'command' then return {table.concat(element.names, ', ')} end
   local arguments = table.concat(element:placeholders(), ' ')
   if element.kind == 'argument' then
      return {element.properties.argname and arguments or element.first_name}
   end
   if arguments == '' then return {table.concat(element.names, ', ')} end
   local longest, lines = 0, {}
   for _, name in ipairs(element.names) do longest = math.max(longest, #name) end
   for i, name in ipairs(element.names) do
      lines[i] = (' '):rep(longest - #name) .. name .. ' ' .. arguments .. (i < #element.names and ',' or '')
   end
   return lines
end

local function description_of(element)
   local text = element.properties.summary or element.properties.description or ''
   local default = element.properties.default
   if type(default) == 'string' and element.properties.show_default ~= false and element.kind ~= 'command' then
      local shown = 'default: ' .. default
      return text == '' and shown or ('%s (%s)'):format(text, shown)
   end
   return text
end

-- Breaks a line; what follows is indented like it, or aligned with the text of a list item.
local function wrap(line, width)
   local indent = line:match '^%s*'
   local item = line:match '^%s*[%*%+%-]%s+'
   local following = item and (' '):rep(#item) or indent
   local lines, current = {}, indent
   for word in line:gmatch '%S+' do
      if current:match '%S' and #current + 1 + #word > width then
         lines[#lines + 1] = current
         current = following .. word
      else
         current = current .. (current:match '%S' and ' ' or '') .. word
      end
   end
   lines[#lines + 1] = current
   return lines
end

local function text_lines(text, width)
   local lines = {}
   for line in (text .. '\n'):gmatch '([^\n]*)\n' do
      for _, part in ipairs(width and wrap(line, width) or {line}) do lines[#lines + 1] = part end
   end
   return lines
end

local function element_help(parser, element)
   local margin, column = (' '):rep(layout(parser, 'help_usage_margin')), layout(parser, 'help_description_margin')
   local width = layout(parser, 'help_max_width')
   local left = labels(element)
   for i, label in ipairs(left) do left[i] = margin .. label end
   local description = description_of(element)
   local right = description ~= '' and text_lines(description, width and width - column) or {}
   local lines = {}
   -- the description starts beside the labels if they leave place for it, otherwise below them
   local start = 0
   for _, label in ipairs(left) do if #label >= column then start = #left end end
   for i = 1, math.max(#left, #right + start) do
      local label, text = left[i] or '', right[i - start]
      lines[i] = text and label .. (' '):rep(column - #label) .. text or label
      if lines[i] == '' then lines[i] = nil end
   end
   return table.concat(lines, '\n')
end

local function section(parser, title, list)
   local blocks = {}
   for _, element in ipairs(list) do
      if not element.properties.hidden then blocks[#blocks + 1] = element_help(parser, element) end
   end
   if #blocks == 0 then return nil end
   local between = ('\n'):rep(1 + layout(parser, 'help_vertical_space'))
   return title .. ':' .. between .. table.concat(blocks, between)
end

function messages.help(parser)
   if parser.properties.help then return parser.properties.help end
   local width = layout(parser, 'help_max_width')
   local parts = {messages.usage(parser)}
   local function add_text(text)
      if text then parts[#parts + 1] = table.concat(text_lines(text, width), '\n') end
   end
   add_text(parser.properties.description)
   local grouped, kinds_with_groups = {}, {}
   for _, group in ipairs(parser.groups) do
      parts[#parts + 1] = section(parser, group.name, group)
      for _, element in ipairs(group) do grouped[element], kinds_with_groups[element.kind] = true, true end
   end
   for _, kind in ipairs {'argument', 'option', 'command'} do
      local rest = {}
      for _, element in ipairs(parser[kind .. 's']) do
         if not grouped[element] then rest[#rest + 1] = element end
      end
      local title = (kinds_with_groups[kind] and 'Other ' .. kind or kind:gsub('^%l', string.upper)) .. 's'
      parts[#parts + 1] = section(parser, title, rest)
   end
   add_text(parser.properties.epilog)
   return table.concat(parts, '\n\n')
end

-- A name that is close to a mistaken one: equal but for one letter, or two that are exchanged.
function messages.suggestion(wrong, names)
   local close = {}
   local function edits(word)
      local found = {}
      for i = 1, #word + 1 do
         local head, tail = word:sub(1, i - 1), word:sub(i)
         found[head .. tail:sub(2)] = true
         found[head .. tail:sub(2, 2) .. tail:sub(1, 1) .. tail:sub(3)] = true
         found[head .. '\0' .. tail:sub(2)] = true  -- any letter here
         found[head .. '\0' .. tail] = true
      end
      return found
   end
   local near = edits(wrong)
   for _, name in ipairs(names) do
      local is_close = near[name] or false
      for edit in pairs(near) do
         local place = edit:find('\0', 1, true)
         if place and #edit == #name and edit:sub(1, place - 1) == name:sub(1, place - 1)
            and edit:sub(place + 1) == name:sub(place + 1) then
            is_close = true
         end
      end
      if is_close then close[#close + 1] = "'" .. name .. "'" end
   end
   if #close == 0 then return '' end
   table.sort(close)
   if #close == 1 then return '\nDid you mean ' .. close[1] .. '?' end
   return '\nDid you mean one of these: ' .. table.concat(close, ' ') .. '?'
end

return messages
