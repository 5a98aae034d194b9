-- The `inn` package: its layers run in Python.
inn = inn or {}
require('relume.in_python').package 'inn'

return inn
