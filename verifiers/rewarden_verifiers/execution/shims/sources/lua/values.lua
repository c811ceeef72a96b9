-- Values in the messages of broker.py. The program may change the libraries, so their functions are kept here.
local format, gsub, sub = string.format, string.gsub, string.sub
local concat, pack, math_type, huge = table.concat, table.pack, math.type, math.huge
local error, type, tonumber, next, rawget = error, type, tonumber, next, rawget
local getmetatable, setmetatable, exit = getmetatable, setmetatable, os.exit
local getinfo, getlocal, sethook = debug.getinfo, debug.getlocal, debug.sethook

local MAX_DEPTH = 100

local input, output = io.open("/dev/fd/98", "rb"), io.open("/dev/fd/99", "wb")
local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r" }
local LETTERS = { ["\\"] = "\\", n = "\n", r = "\r" }

-- The metatable of lists that can hold nil: their number of values is `n`.
local Results = {}

local function results(...)
  return setmetatable(pack(...), Results)
end

local lines

-- Adds the lines of the first values of a table.
local function row(out, values, count, depth)
  out[#out + 1] = "l " .. count
  for at = 1, count do
    lines(out, rawget(values, at), depth + 1)
  end
end

-- Raises { uncrossable = TYPE } for a value that cannot cross.
function lines(out, value, depth)
  local kind = type(value)
  if depth > MAX_DEPTH then
    error({ uncrossable = "a nesting that is too deep" })
  elseif kind == "nil" then
    out[#out + 1] = "n"
  elseif kind == "boolean" then
    out[#out + 1] = value and "T" or "F"
  elseif kind == "string" then
    out[#out + 1] = "s " .. gsub(value, "[\\\n\r]", ESCAPES)
  elseif kind == "number" then
    if math_type(value) == "integer" then
      out[#out + 1] = format("i %d", value)
    elseif value ~= value then
      out[#out + 1] = "f nan"
    elseif value == huge or value == -huge then
      out[#out + 1] = value > 0 and "f inf" or "f -inf"
    else
      out[#out + 1] = format("f %.17g", value)
    end
  elseif kind ~= "table" or getmetatable(value) ~= nil then
    error({ uncrossable = kind == "table" and "a table with a metatable" or kind })
  else
    local count = 0
    for _ in next, value do
      count = count + 1
    end
    for at = 1, count do
      if rawget(value, at) == nil then
        out[#out + 1] = "d " .. count
        for key, part in next, value do
          lines(out, key, depth + 1)
          lines(out, part, depth + 1)
        end
        return
      end
    end
    row(out, value, count, depth)
  end
end

-- Sends a message of texts and values. What `results` made is a list of `n` values.
local function put(...)
  local parts = pack(...)
  local out = { "l " .. parts.n }
  for at = 1, parts.n do
    if getmetatable(parts[at]) == Results then
      row(out, parts[at], parts[at].n, 1)
    else
      lines(out, parts[at], 1)
    end
  end
  out[#out + 1] = ""
  output:write(concat(out, "\n"))
  output:flush()
end

local function line()
  local text = input:read("l")
  if text == nil then
    exit(0)
  end
  return sub(text, 1, 1), sub(text, 3)
end

local value

-- Reads a list of values that can be nil, as `table.pack` makes it.
local function list()
  local kind, count = line()
  if kind ~= "l" then
    error("no list")
  end
  local made = { n = tonumber(count) }
  for at = 1, made.n do
    made[at] = value()
  end
  return made
end

function value()
  local kind, rest = line()
  if kind == "s" then
    return (gsub(rest, "\\(.)", LETTERS))
  elseif kind == "i" or kind == "f" then
    if rest == "nan" then
      return 0 / 0
    elseif rest == "inf" or rest == "-inf" then
      return rest == "inf" and huge or -huge
    end
    return tonumber(rest)
  elseif kind == "T" or kind == "F" then
    return kind == "T"
  elseif kind == "l" then
    local made = {}
    for at = 1, tonumber(rest) do
      made[at] = value()
    end
    return made
  elseif kind == "d" then
    local made = {}
    for _ = 1, tonumber(rest) do
      local key = value()
      made[key] = value()
    end
    return made
  end
  return nil
end

-- Runs a program. Returns its local variables at its end, and what it returns.
local function load(file, env)
  local chunk, fault = loadfile(file, "t", env or _G)
  if chunk == nil then
    error(fault, 0)
  end
  local names = {}
  sethook(function()
    if getinfo(2, "f").func ~= chunk then
      return
    end
    for at = 1, huge do
      local name, held = getlocal(2, at)
      if name == nil then
        break
      end
      names[name] = held
    end
  end, "r")
  local made = chunk()
  sethook()
  return names, made
end

return { put = put, list = list, load = load, results = results, skip = line, value = value }
