-- The tests' room: the entry point asks the other room. In one process (`shared`), it is the program's own.
local room = dofile("rewarden/values.lua")
local mode, entry = arg[1], arg[2]
arg = { [0] = "tests_code.lua" }

local function ask(...)
  local sent, why = pcall(room.put, "call", entry, room.results(...))
  if not sent then
    room.put("uncrossable", type(why) == "table" and why.uncrossable or tostring(why))
  end
  room.skip() -- the number of parts
  if room.value() == "raised" then
    room.value() -- its type
    error(room.value(), 0)
  end
  local known, results = pcall(room.list)
  if not known then
    room.put("bad_frame")
    while true do
      room.skip() -- until the broker ends this
    end
  end
  return table.unpack(results, 1, results.n)
end

if not package.searchpath("luaunit", package.path) then
  package.preload.luaunit = function()
    return dofile("rewarden/luaunit.lua")
  end
end

-- Attack: say that the tests have finished. Without these, no program reads the variables of this file.
local secret
if mode == "shared" then
  room.skip() -- the number of parts
  secret = room.value()
  debug = { traceback = debug.traceback }
  package.loaded.debug = debug
end

local exit, put, stderr, traceback = os.exit, room.put, io.stderr, debug.traceback

-- Only the test code's own end is one, and not the program's `os.exit`.
local function ended(code, close)
  if code == nil or code == true or code == 0 then
    put("finished", secret)
  end
  exit(code, close)
end

if mode == "shared" then
  local names = room.load("solution.lua")
  _G[entry] = names[entry] or _G[entry]
else
  _G[entry] = ask
end
candidate = _G[entry]

local env = setmetatable({ os = setmetatable({ exit = ended }, { __index = os }) }, { __index = _G, __newindex = _G })
local works, fault = xpcall(room.load, traceback, "tests_code.lua", env)
if not works then
  stderr:write(tostring(fault), "\n")
  exit(1)
end
ended(0)
