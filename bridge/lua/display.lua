-- The package `display` showed images and plots in a browser. Here scripts that use it go on without: each
-- function takes what it took and gives the name of a pane.
require 'torch'

local display = {}
local is_told, panes = false, 0

local function show(options)
   if not is_told then
      is_told = true
      io.stderr:write('display: nothing is shown here; image.save, gnuplot and optim.Logger write files\n')
   end
   if type(options) == 'table' and options.win then return options.win end
   panes = panes + 1
   return 'pane_' .. panes
end

-- name -> the place of the options among the arguments.
for name, place in pairs {image = 2, images = 2, plot = 2, text = 2, html = 2, video = 2, audio = 3, pane = 5} do
   display[name] = function(...) return show((select(place, ...))) end
end

function display.configure() end

return display
