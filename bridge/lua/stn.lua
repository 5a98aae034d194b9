-- The `stn` package: its layers run in Python.
require('relume.in_python').package 'stn'

return nn
