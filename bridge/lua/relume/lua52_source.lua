--[[ What Torch7's LuaJIT took of Lua 5.2 in sources, and this one does not.

- `#object` asks a table for its own length. `#net` is compiled as `#('').measured(net)`, which gives
  values as they are, and for an object with a length of its own what has the length that it says.
- A parenthesis that begins a line goes on with a call. A source that is refused for that ("ambiguous
  syntax") is compiled with the parenthesis moved to the end of what is called.

Lines keep their numbers.
]]

----------------------------------------------------------------------------------------
-- Tokens.

-- Where the token that starts at `position` ends, and whether it is one (not blanks, not a comment).
local function token(source, position)
   local after = select(2, source:find('^%s+', position))
   if after then return after, false end
   local is_comment = source:find('^%-%-', position) ~= nil
   local start = is_comment and position + 2 or position
   local equals = source:match('^%[(=*)%[', start)
   if equals then
      local closing = ']' .. equals .. ']'
      return select(2, source:find(closing, start, true)) or #source, not is_comment
   end
   if is_comment then return (source:find('\n', start, true) or #source + 1) - 1, false end
   local quote = source:match('^["\']', position)
   if quote then
      local at = position + 1
      while at < #source and source:sub(at, at) ~= quote do
         at = at + (source:sub(at, at) == '\\' and 2 or 1)
      end
      return at, true
   end
   return select(2, source:find('^[%w_]+', position)) or position, true
end

-- The next position that holds a token.
local function skip_blanks(source, position)
   while position <= #source do
      local last, counts = token(source, position)
      if counts then break end
      position = last + 1
   end
   return position
end

local opens, closes = {['('] = true, ['['] = true, ['{'] = true}, {[')'] = true, [']'] = true, ['}'] = true}

-- Where the bracket that opens at `position` is closed.
local function closing(source, position)
   local depth = 0
   while position <= #source do
      local last = token(source, position)
      local text = last == position and source:sub(position, last)
      if opens[text] then depth = depth + 1 end
      if closes[text] then depth = depth - 1 end
      if depth == 0 then return last end
      position = last + 1
   end
   return nil
end

-- Where a name, an index or the arguments of a call that begin at `position` end; nil for anything else.
local function suffix_end(source, position)
   local named = source:match('^[.:]%s*[%a_][%w_]*()', position)
   if named then return named - 1 end
   if source:find('^%[=*%[', position) or source:find('^["\']', position) then
      return (token(source, position))
   end
   return opens[source:sub(position, position)] and closing(source, position)
end

-- Where the operand of `#` that begins at `position` ends; nil if no object can be there.
local function operand_end(source, position)
   local last
   if source:sub(position, position) == '(' then
      last = closing(source, position)
   else
      last = (source:match('^[%a_][%w_]*()', position) or 0) - 1
      if last < 0 then return nil end
   end
   local further = last
   while further do
      last = further
      further = suffix_end(source, skip_blanks(source, last + 1))
   end
   return last
end

----------------------------------------------------------------------------------------

-- What stands for an object with its own length.
local prototype = newproxy(true)
local lengths = setmetatable({}, {__mode = 'k'})
getmetatable(prototype).__len = function(proxy) return lengths[proxy] end

function string.measured(value)
   if type(value) ~= 'table' then return value end
   local mt = getmetatable(value)
   if type(mt) ~= 'table' then return value end
   local own = rawget(mt, '__len') or mt.__len__
   if not own then return value end
   local proxy = newproxy(prototype)
   lengths[proxy] = own(value)
   return proxy
end

local function with_lengths_measured(source)
   if not source:find('#', 1, true) then return source end
   local insertions, position = {}, 1
   while true do
      position = source:find('[#"\'%-%[]', position)
      if not position then break end
      local last = token(source, position)
      if source:sub(position, position) == '#' then
         local first = skip_blanks(source, position + 1)
         local operand_last = operand_end(source, first)
         if operand_last then
            table.insert(insertions, {first, "('').measured("})
            table.insert(insertions, {operand_last + 1, ')'})
         end
      end
      position = last + 1
   end
   table.sort(insertions, function(a, b) return a[1] < b[1] end)
   local parts, from = {}, 1
   for _, insertion in ipairs(insertions) do
      table.insert(parts, source:sub(from, insertion[1] - 1))
      table.insert(parts, insertion[2])
      from = insertion[1]
   end
   table.insert(parts, source:sub(from))
   return table.concat(parts)
end

-- The source with the parenthesis that begins the line `number` moved to the end of the token before it.
local function with_the_call_joined(source, number)
   local line_start, line = 1, 1
   while line < number do
      line_start, line = source:find('\n', line_start, true) + 1, line + 1
   end
   local position, last_end = 1, 0
   while position <= #source do
      local token_end, counts = token(source, position)
      if counts and position >= line_start then
         return source:sub(1, last_end) .. '(' .. source:sub(last_end + 1, position - 1)
            .. source:sub(position + 1)
      end
      if counts then last_end = token_end end
      position = token_end + 1
   end
   return source
end

----------------------------------------------------------------------------------------

local plain_load, plain_loadfile = load, loadfile
local BYTECODE = '\27'

local function compile(source, name, ...)
   if source:sub(1, 1) == BYTECODE then return plain_load(source, name, ...) end
   source = with_lengths_measured(source)
   local chunk, message
   repeat
      chunk, message = plain_load(source, name, ...)
      local line = message and message:match ':(%d+): ambiguous syntax'
      if line then source = with_the_call_joined(source, tonumber(line)) end
   until not line
   return chunk, message
end

function load(source, name, ...)
   if type(source) ~= 'string' then return plain_load(source, name, ...) end
   return compile(source, name or source, ...)
end
loadstring = load

function loadfile(path, ...)
   local file = path and io.open(path, 'rb')
   if not file then return plain_loadfile(path, ...) end
   local source = file:read '*a'
   file:close()
   return compile((source or ''):gsub('^#[^\n]*', ''), '@' .. path, ...)
end

function dofile(path)
   local chunk, message = loadfile(path)
   if not chunk then error(message, 0) end
   return chunk()
end

-- A searcher of Lua files in the place of the plain one, which `find` finds by name and path; those of
-- `own_folder` need none of this.
return function(find, own_folder, plain_searcher)
   return function(name)
      local path = find(name, package.path)
      if not path or path:sub(1, #own_folder + 1) == own_folder .. '/' then return plain_searcher(name) end
      local chunk, message = loadfile(path)
      if not chunk then
         error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, message), 0)
      end
      return chunk
   end
end
