--[[ Classes that relume has in Python alone, as classes of Lua.

in_python.package 'nnx' defines the classes of that package which Lua code lacks: torch.class with the
methods of nn.PythonModule, so that objects have their own type, can be derived from, saved and read.
]]
require 'nn'
local class = require 'torch.class'
local bridge = require 'relume.bridge'

local in_python = {}

local function define(typename, parent_name)
   local Class, parent = torch.class(typename, parent_name)
   function Class:__init(...)
      parent.__init(self, bridge.make_in_python(typename, ...))
   end
end

function in_python.package(name)
   _G[name] = _G[name] or {}
   for typename, is_criterion in pairs(bridge.classes_in_python(name)) do
      if not class.getmetatable(typename) then
         define(typename, is_criterion and 'nn.PythonCriterion' or 'nn.PythonModule')
      end
   end
end

return in_python
