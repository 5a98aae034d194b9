--[[ What to do about packages of Torch7 that are not there.

`require` asks this searcher first. It finds nothing, but what it says is the first line of the
error, should no other searcher find the package: one that a script brings along is used.
]]

local ON_A_GPU = 'relume computes on the CPU; leave it out, and :cuda() with it, or run the script with '
   .. '`relume lua --cuda=cpu`'
local PLOTS = 'plots are not drawn; optim.Logger writes them to files'

local ADVICE = {
   cutorch = ON_A_GPU,
   cunn = ON_A_GPU,
   cunnx = ON_A_GPU,
   cltorch = ON_A_GPU,
   clnn = ON_A_GPU,
   cudnn = ON_A_GPU .. '; relume.load makes layers of nn of those in a file',
   gnuplot = PLOTS,
   itorch = PLOTS,
   display = PLOTS,
   loadcaffe = 'relume reads what torch.save wrote of such a network',
   nnx = 'relume.legacy_nn has its layers in Python',
   inn = 'relume.legacy_nn has its layers in Python',
   stn = 'relume.legacy_nn has its layers in Python',
}

return function(name)
   local advice = ADVICE[name:match('^[^.]*')]
   return advice and '\n\trelume has no ' .. name .. ': ' .. advice
end
