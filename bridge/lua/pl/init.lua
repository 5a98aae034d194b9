-- require 'pl' gives scripts the modules of Penlight as globals, each loaded when it is first used.
require('pl.import_into')(_G)

if rawget(_G, 'PENLIGHT_STRICT') then require 'pl.strict' end
