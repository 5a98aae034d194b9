-- Graphs as source for Graphviz, and as pictures where that is installed.
local Graph = torch.getmetatable 'graph.Graph'

-- Text for a label in double quotes.
function graph._dotEscape(text)
   if text:find '[^%w]' or text == '' then
      return '"' .. text:gsub('"', '\\"'):gsub('\n', '\\n') .. '"'
   end
   return text
end

local function attributes_of(node, label)
   local parts = {'label=' .. graph._dotEscape(label)}
   for name, value in pairs(node:graphNodeAttributes() or {}) do
      parts[#parts + 1] = ('%s=%s'):format(name, graph._dotEscape(tostring(value)))
   end
   table.sort(parts)
   return table.concat(parts, ' ')
end

function Graph:todot(title)
   local lines = {'digraph G {'}
   if title then
      lines[#lines + 1] = 'labelloc="t";'
      lines[#lines + 1] = ('label="%s";'):format(title)
   end
   lines[#lines + 1] = 'node [shape = oval]; '
   local place = {}
   for i, node in ipairs(self.nodes) do
      place[node] = i
      local name = node:graphNodeName()
      if name == node:label() then name = 'Node' .. node.id end
      local label = name .. '\n' .. node:label()
      lines[#lines + 1] = ('n%d[%s];'):format(i, attributes_of(node, label))
   end
   for i, node in ipairs(self.nodes) do
      for _, child in ipairs(node.children) do
         lines[#lines + 1] = ('n%d -> n%d;'):format(i, place[child])
      end
   end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

----------------------------------------------------------------------------------------
-- Pictures.

local function write(path, text)
   local file, message = io.open(path, 'w')
   if not file then error(message, 3) end
   file:write(text)
   file:close()
end

local function quoted(path) return "'" .. path:gsub("'", [['\'']]) .. "'" end

-- Runs Graphviz on source in a file; false when it is not installed.
local function render(program, source, picture)
   local kind = picture:match '%.(%w+)$' or 'svg'
   local command = ('%s -T%s %s -o %s 2>/dev/null'):format(program, kind, quoted(source), quoted(picture))
   local status = os.execute(command)
   return status == true or status == 0
end

-- A picture of a graph in a file, whose ending is its format; `program` is 'dot', 'neato', ...
function graph.graphvizFile(g, program, path)
   local source = os.tmpname()
   write(source, g:todot())
   local done = render(program or 'dot', source, path)
   os.remove(source)
   if not done then
      error(("graph.graphvizFile: Graphviz, whose program '%s' draws, could not be run; install it, or use "
         .. 'g:todot()'):format(program or 'dot'), 2)
   end
end

-- graph.dot(g [, title [, name]]): writes name.dot, and name.svg if Graphviz is installed. Without a name, files
-- in the folder for temporary ones, whose place is printed: there are no windows here.
function graph.dot(g, title, name)
   local base = name or os.tmpname()
   write(base .. '.dot', g:todot(title))
   local is_drawn = render('dot', base .. '.dot', base .. '.svg')
   if not name then
      os.remove(base)
      print('the graph is in ' .. base .. (is_drawn and '.svg' or '.dot'))
   elseif not is_drawn then
      io.stderr:write(('graph.dot: Graphviz is not installed; its source is in %s.dot\n'):format(base))
   end
end
graph.graphvizDisplay = function(g) graph.dot(g) end
