-- relume lua examples/porting/project/main.lua
local project = include 'train.lua'
local losses = project.train(100)
print(('loss of the first step %.4f, of the last %.4f'):format(losses[1], losses[#losses]))
