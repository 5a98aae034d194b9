-- Package dpnn in Lua: modules and criterions beside those of nn.
require 'nn'
require 'dpnn.module_methods'
require 'dpnn.step_clone'
require 'dpnn.serial'
require 'dpnn.small_layers'
require 'dpnn.reinforce'
require 'dpnn.rewards'
require 'dpnn.building_blocks'
require('relume.in_python').package 'dpnn'

dpnn = dpnn or {}
nn.dpnn = dpnn
return dpnn
