-- argcheck.doc: doc 'text' notes a text while doc.record() is on; doc.stop() gives all of them.
local texts  -- nil when nothing is recorded

local function note(text)
   if texts then texts[#texts + 1] = text end
end

local function record() texts = {} end

local function stop()
   if not texts then error('argcheck.doc: stop without record', 2) end
   local all = table.concat(texts)
   texts = nil
   return all
end

return setmetatable({doc = note, record = record, stop = stop}, {
   __call = function(_, text) note(text) end,
})
