-- pl.url: characters in URLs.
local url = {}

-- With `plus`, a space becomes '+', and '/' is quoted too.
function url.quote(s, plus)
   if type(s) ~= 'string' then return s end
   s = s:gsub('\n', '\r\n')
   s = s:gsub(plus and "([^%w %-_%.])" or "([^%w%-_%./])", function(character)
      return ('%%%02X'):format(character:byte())
   end)
   return (plus and s:gsub(' ', '+') or s)
end

function url.unquote(s)
   if type(s) ~= 'string' then return s end
   s = s:gsub('+', ' '):gsub('%%(%x%x)', function(code) return string.char(tonumber(code, 16)) end)
   return (s:gsub('\r\n', '\n'))
end

return url
