-- The `fbnn` package: its layers run in Python.
fbnn = fbnn or {}
require('relume.in_python').package 'fbnn'

return fbnn
