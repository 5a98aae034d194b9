-- The package `iterm` showed images in a terminal. Here scripts that use it go on without.
local is_told = false

local function show()
   if is_told then return end
   is_told = true
   io.stderr:write('iterm: nothing is shown here; image.save and graph.dot write files\n')
end

iterm = setmetatable({image = show, dot = show}, {__call = show})
return iterm
