-- Short forms for the modules that cells are built of.
local building = {}

local function filled(container, ...)
   for _, module in ipairs {...} do container:add(module) end
   return container
end

function building.sequence(...) return filled(nn.Sequential(), ...) end
function building.fan_out(...) return filled(nn.ConcatTable(), ...) end
function building.parallel(...) return filled(nn.ParallelTable(), ...) end

-- Dropout that keeps its mask for all steps of a sequence.
function building.dropout(cell) return nn.Dropout(cell.p, false, false, true, cell.mono) end

-- A layer behind the dropout of a cell.
function building.with_dropout(cell, layer)
   return building.sequence(building.dropout(cell), layer)
end

-- Layers side by side, each behind a dropout of its own, their outputs joined.
function building.dropped_sums(cell, layers)
   local masks = {}
   for i = 1, #layers do masks[i] = building.dropout(cell) end
   return building.sequence(building.fan_out(unpack(masks)), building.parallel(unpack(layers)), nn.JoinTable(2))
end

-- count modules that make() gives.
function building.several(count, make)
   local list = {}
   for i = 1, count do list[i] = make() end
   return list
end

return building
