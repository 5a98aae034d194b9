-- The package `env`: what th gave scripts, for those that ask for it by name.
require 'torch'
require 'sys'
require 'xlua'
require 'paths'
require 'th'

return {}
