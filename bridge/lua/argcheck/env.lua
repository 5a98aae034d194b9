-- argcheck.env: how types are asked for. Scripts may put functions of their own here; checkers take
-- those that are there when they are made.
local env = {}

-- Is an object of a type of Lua, or of a class or a child of it? 'torch.*Tensor' is a pattern.
function env.istype(object, name)
   if name == '*' then return true end
   if torch and torch.typename and torch.typename(object) then
      return torch.isTypeOf(object, name) or type(object) == name
   end
   return type(object) == name
end

function env.type(object)
   return torch and torch.typename and torch.typename(object) or type(object)
end

return env
