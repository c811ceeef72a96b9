-- The candidate's room: loads the program and calls its functions.
local room = dofile("rewarden/values.lua")
local mode = arg[1]
local exit, pcall, tostring, type, match, getlocal = os.exit, pcall, tostring, type, string.match, debug.getlocal
local pack, unpack, rawget, globals = table.pack, table.unpack, rawget, _G
arg = { [0] = "solution.lua" }

local names, returned

-- Returns a variable of the program, or a part of the module that it returns.
local function look(name)
  if names[name] ~= nil then
    return names[name]
  elseif rawget(globals, name) ~= nil then
    return rawget(globals, name)
  end
  return type(returned) == "table" and returned[name] or nil
end

-- Calls a function, with the object before its arguments if its first parameter is `self`.
local function applied(f, object, args)
  if type(f) == "function" and getlocal(f, 1) == "self" then
    return f(object, unpack(args, 1, args.n))
  end
  return f(unpack(args, 1, args.n))
end

-- Returns `absent`, or `value` and the results.
local function answer(target, args, init)
  local name, method = match(target, "^([^.]+)%.?(.*)$")
  local owner = look(name)
  if method == "" then
    if type(owner) ~= "function" then
      return "absent"
    end
    return "value", owner(unpack(args, 1, args.n))
  end
  if type(owner) ~= "table" then
    return "absent"
  end
  local object = owner.new and applied(owner.new, owner, init) or owner
  if type(object[method]) ~= "function" then
    return "absent"
  end
  return "value", applied(object[method], object, args)
end

local function text(fault)
  local works, said = pcall(tostring, fault)
  return works and said or "an error without a text"
end

local loads
loads, names, returned = pcall(room.load, "solution.lua")
if not loads then
  room.put("unloaded", "error", text(names))
  exit(1)
end
room.put("loaded")
while true do
  room.skip() -- the number of parts
  room.value() -- "call"
  local target, args, init = room.value(), room.list(), room.list()
  local results = pack(pcall(answer, target, args, init))
  if not results[1] then
    room.put("raised", "error", text(results[2]))
  elseif results[2] == "absent" then
    room.put("absent")
  else
    local sent, why
    if mode == "serve" then
      sent, why = pcall(room.put, "value", room.results(unpack(results, 3, results.n)))
    else
      sent, why = pcall(room.put, "value", results[3])
    end
    if not sent then
      room.put("uncrossable", type(why) == "table" and why.uncrossable or text(why))
    end
  end
end
