-- What the methods do with their arguments.
local settings = {}

-- The settings to read and the table to keep the state in: the same unless a state is given.
function settings.prepare(config, state)
   config = config or {}
   return config, state or config
end

-- `config[name]`, or a default where it is nil.
function settings.get(config, name, default)
   local value = config[name]
   if value == nil then return default end
   return value
end

-- A tensor of the state like `like`, zero on the first call.
function settings.kept(state, name, like)
   if not state[name] then state[name] = like.new():resizeAs(like):zero() end
   return state[name]
end

-- Adds the gradient of decay / 2 * |x|^2.
function settings.add_decay(gradient, x, decay)
   if decay and decay ~= 0 then gradient:add(decay, x) end
end

-- A learning rate that falls with the number of evaluations.
function settings.decayed_rate(config, default, evaluations)
   local rate = config.learningRate or default
   return rate / (1 + evaluations * (config.learningRateDecay or 0))
end

return settings
