-- The `nnx` package: its layers and criterions run in Python.
nnx = nnx or {}
require('relume.in_python').package 'nnx'

return nnx
