-- xlua.OptionParser: options of a command line, {'-n', '--number', action =, dest =, default =,
-- help =, req =}; actions are store, store_true and store_false.
local OptionParser = {}
OptionParser.__index = OptionParser

function xlua.OptionParser(usage)
   return setmetatable({usage = usage or 'Usage: [options]', options = {}, by_word = {}}, OptionParser)
end

function OptionParser:option(option)
   option.dest = option.dest or option[#option]:gsub('^%-+', '')
   option.action = option.action or 'store'
   self.options[#self.options + 1] = option
   for _, word in ipairs(option) do self.by_word[word] = option end
end

function OptionParser:fail(message)
   io.stderr:write(message, '\n')
   self:help()
   os.exit(1)
end

function OptionParser:help()
   print(self.usage)
   print('Options:')
   for _, option in ipairs(self.options) do
      local default = option.default ~= nil and (' [default = %s]'):format(tostring(option.default)) or ''
      print(('  %-26s %s%s'):format(table.concat(option, ', '), option.help or '', default))
   end
end

local function value_of(self, option, word)
   if word == nil then self:fail('missing value of ' .. option[#option]) end
   if type(option.default) == 'number' then
      return tonumber(word) or self:fail(('%s should be a number, got %s'):format(option[#option], word))
   end
   return tonumber(word) or word
end

-- Reads the global `arg`: the options by name, and the words that are none.
function OptionParser:parse(options)
   local result, rest = options or {}, {}
   for _, option in ipairs(self.options) do
      if option.default ~= nil and result[option.dest] == nil then result[option.dest] = option.default end
   end
   local place = 1
   while arg[place] ~= nil do
      local word, value = arg[place], nil
      if word:match('^%-%-[^=]+=') then word, value = word:match('^(%-%-[^=]+)=(.*)$') end
      local option = self.by_word[word]
      if option and option.action == 'store' then
         if value == nil then
            place = place + 1
            value = arg[place]
         end
         result[option.dest] = value_of(self, option, value)
      elseif option then
         result[option.dest] = option.action == 'store_true'
      elseif word == '-h' or word == '--help' then
         self:help()
         os.exit(0)
      elseif word:match('^%-%D') then
         self:fail('unknown option ' .. word)
      else
         rest[#rest + 1] = word
      end
      place = place + 1
   end
   for _, option in ipairs(self.options) do
      if option.req and result[option.dest] == nil then self:fail('missing option ' .. option[#option]) end
   end
   return result, rest
end
