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

-- The layers that compute all gates of a cell from the input (i2g) and from the output before (o2g).
function building.make_gate_sums(cell, gates)
   local inputs, outputs = cell.inputSize, cell.outputSize
   if cell.p == 0 then
      cell.i2g, cell.o2g = nn.Linear(inputs, gates * outputs), nn.LinearNoBias(outputs, gates * outputs)
      return
   end
   local function from_input() return nn.Linear(inputs, outputs) end
   local function from_output() return nn.LinearNoBias(outputs, outputs) end
   cell.i2g = building.dropped_sums(cell, building.several(gates, from_input))
   cell.o2g = building.dropped_sums(cell, building.several(gates, from_output))
end

return building
