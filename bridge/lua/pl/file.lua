-- pl.file: whole files.
local dir = require 'pl.dir'
local path = require 'pl.path'
local utils = require 'pl.utils'

return {
   read = utils.readfile, write = utils.writefile,
   copy = dir.copyfile, move = dir.movefile, delete = os.remove,
   access_time = path.getatime, creation_time = path.getctime, modified_time = path.getmtime,
}
