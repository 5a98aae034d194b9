--[[ Where `require` looks, besides the files of relume and of package.path.

Packages in pure Lua that users have themselves (LUA_PATH, package.path, an old Torch install) are
taken before relume's own; those that came with C code are relume's. Binary modules of another Lua are
refused, and packages that are not there say what to do.
]]

local own_folder = ...  -- of relume's Lua files
local searchers = {}

----------------------------------------------------------------------------------------
-- Packages of the user's.

-- Packages that are pure Lua and ask nothing of Torch's C code.
local users_first = {
   pl = true, argparse = true, argcheck = true, class = true, moses = true, csvigo = true, lapp = true,
}

local function without_own_folder(path)
   local kept = {}
   for template in path:gmatch '[^;]+' do
      if template:sub(1, #own_folder + 1) ~= own_folder .. '/' then kept[#kept + 1] = template end
   end
   return table.concat(kept, ';')
end

local function find(name, path)
   local file_name = name:gsub('%.', '/')
   for template in path:gmatch '[^;]+' do
      local place = template:gsub('%?', (file_name:gsub('%%', '%%%%')))
      local file = io.open(place)
      if file then
         file:close()
         return place
      end
   end
   return nil
end

-- The file of a package that the user has, all parts of which come from the same place.
function searchers.users_package(name)
   local first = name:match '^[^.]*'
   if not users_first[first] then return nil end
   local path = without_own_folder(package.path)
   if not find(first, path) and not find(first .. '.utils', path) then return nil end
   local place = find(name, path)
   return place and assert(loadfile(place)) or nil
end

----------------------------------------------------------------------------------------
-- Binary modules.

-- In the place of Lua's loader of C modules.
function searchers.binary_module(name)
   local place = find(name, package.cpath) or find(name:match '^[^.]*', package.cpath)
   if not place then return nil end
   local package_name = name:gsub('^lib', ''):match '^[^.]*'
   return ("\n\t%s is compiled for another Lua: relume runs packages in Lua and has its own of torch, nn and "
      .. "others. Take the folder of '%s' out of package.path and package.cpath, if relume has that package "
      .. '(docs/lua.md lists them), or leave it out'):format(place, package_name)
end

----------------------------------------------------------------------------------------
-- Packages that are not there. What is said is the first line of the error, should no other searcher find
-- the package: one that a script brings along is used.

local ON_A_GPU = 'relume computes on the CPU; leave it out, and :cuda() with it, or run the script with '
   .. '`relume lua --cuda=cpu`'
local NO_WINDOWS = 'there are no windows here; image.save, gnuplot and optim.Logger write files'
local NETWORKS = 'it reads networks of %s, which relume does not: convert the network with a Torch install, '
   .. 'torch.save it and give relume that file'
local NO_SERVER = 'it talks to other machines, which relume does not'

local ADVICE = {
   cutorch = ON_A_GPU, cunn = ON_A_GPU, cunnx = ON_A_GPU, cltorch = ON_A_GPU, clnn = ON_A_GPU,
   fbcunn = ON_A_GPU, ccn2 = ON_A_GPU, nccl = ON_A_GPU,
   cudnn = ON_A_GPU .. '; relume.load makes layers of nn of those in a file',
   itorch = NO_WINDOWS, qt = NO_WINDOWS, qtwidget = NO_WINDOWS, qttorch = NO_WINDOWS,
   visdom = NO_WINDOWS,
   caffe = NETWORKS:format 'Caffe',
   loadtf = NETWORKS:format 'TensorFlow', mattorch = 'scipy.io.loadmat reads such files; hand its arrays to Lua',
   matio = 'scipy.io.loadmat reads such files in Python; hand its arrays to Lua',
   npy4th = 'numpy.load reads such files in Python; hand its arrays to Lua',
   async = NO_SERVER, parallel = "use package 'threads'", ipc = "use package 'threads'",
   torchnet = 'it is in pure Lua: put its folder on package.path',
   camera = 'there is no camera here', ffmpeg = 'read the pictures of the video with Python and hand them to Lua',
   signal = 'numpy.fft does this in Python',
   fftw3 = 'numpy.fft does this in Python',
   audio = 'read the sound with Python and hand it to Lua as a tensor',
   graphicsmagick = "use package 'image'", cv = "use package 'image', or OpenCV in Python",
}

function searchers.absent(name)
   local advice = ADVICE[name:match '^[^.]*']
   return advice and '\n\trelume has no ' .. name .. ': ' .. advice
end

----------------------------------------------------------------------------------------

-- The packages in pure Lua of an old Torch install come last.
local function add_old_install()
   local folder = os.getenv 'TORCH_INSTALL' or (os.getenv 'HOME' or '') .. '/torch/install'
   if find('torch', folder .. '/share/lua/5.1/?/init.lua') then
      package.path = package.path .. (';%s/share/lua/5.1/?.lua;%s/share/lua/5.1/?/init.lua'):format(folder, folder)
   end
end

function searchers.install()
   add_old_install()
   local loaders = package.loaders
   -- preload, Lua files, C modules, C modules of a package
   loaders[2] = require 'relume.lua52_source'(find, own_folder, loaders[2])
   loaders[3], loaders[4] = searchers.binary_module, nil
   table.insert(loaders, 1, searchers.absent)
   table.insert(loaders, 3, searchers.users_package)
end

return searchers
