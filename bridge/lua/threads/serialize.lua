-- threads.serialize: any object as a torch.CharStorage and back. What is read is a copy.
require 'torch'

return {save = torch.serializeToStorage, load = torch.deserializeFromStorage}
