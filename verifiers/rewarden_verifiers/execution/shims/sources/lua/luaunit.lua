-- The part of LuaUnit that tests of functions use, for images that lack it.
local M = { LuaUnit = {}, EPS = 2 ^ -52 }

local function same(one, other, margin)
  if type(one) == "number" and type(other) == "number" and margin then
    return math.abs(one - other) <= margin
  elseif type(one) ~= "table" or type(other) ~= "table" then
    return one == other
  end
  for key, value in pairs(one) do
    if other[key] == nil or not same(value, other[key], margin) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

local function written(value)
  if type(value) ~= "table" then
    return type(value) == "string" and string.format("%q", value) or tostring(value)
  end
  local parts = {}
  for key, part in pairs(value) do
    parts[#parts + 1] = written(key) .. "=" .. written(part)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function check(holds, said, message)
  if not holds then
    error(message and message .. ": " .. said or said, 3)
  end
end

function M.assertEquals(actual, expected, message)
  check(same(actual, expected), "expected: " .. written(expected) .. ", actual: " .. written(actual), message)
end

function M.assertNotEquals(actual, expected, message)
  check(not same(actual, expected), "unexpected: " .. written(actual), message)
end

function M.assertAlmostEquals(actual, expected, margin, message)
  local said = "expected: " .. written(expected) .. ", actual: " .. written(actual)
  check(same(actual, expected, margin or M.EPS), said, message)
end

function M.assertIs(actual, expected, message)
  check(rawequal(actual, expected), "expected: " .. written(expected) .. ", actual: " .. written(actual), message)
end

-- The same items, in any order.
function M.assertItemsEquals(actual, expected, message)
  local left = {}
  for key, value in pairs(expected) do
    left[key] = value
  end
  local holds = type(actual) == "table"
  for _, value in pairs(holds and actual or {}) do
    local found
    for key, other in pairs(left) do
      if same(value, other) then
        found = key
      end
    end
    holds = holds and found ~= nil
    if found ~= nil then
      left[found] = nil
    end
  end
  check(holds and next(left) == nil, "expected: " .. written(expected) .. ", actual: " .. written(actual), message)
end

function M.assertTrue(value, message)
  check(value == true, "expected: true, actual: " .. written(value), message)
end

function M.assertFalse(value, message)
  check(value == false, "expected: false, actual: " .. written(value), message)
end

function M.assertNil(value, message)
  check(value == nil, "expected: nil, actual: " .. written(value), message)
end

function M.assertNotNil(value, message)
  check(value ~= nil, "expected: a value, actual: nil", message)
end

function M.assertError(f, ...)
  check(not pcall(f, ...), "expected an error")
end

function M.assertErrorMsgContains(part, f, ...)
  local works, fault = pcall(f, ...)
  check(not works and string.find(tostring(fault), part, 1, true), "expected an error with: " .. part)
end

function M.fail(message)
  error(message, 2)
end

local function is_test(name)
  return type(name) == "string" and name:lower():sub(1, 4) == "test"
end

-- Runs the global functions and the methods of global tables whose names begin with `test`. Returns how many failed.
function M.LuaUnit.run()
  local failures, tests = 0, {}
  for name, value in pairs(_G) do
    if is_test(name) and type(value) == "function" then
      tests[#tests + 1] = { name = name, run = value }
    elseif is_test(name) and type(value) == "table" then
      for method, run in pairs(value) do
        if is_test(method) and type(run) == "function" then
          tests[#tests + 1] = { name = name .. "." .. method, run = run, self = value }
        end
      end
    end
  end
  table.sort(tests, function(one, other)
    return one.name < other.name
  end)
  for _, test in ipairs(tests) do
    local fixture = test.self or {}
    local works, fault = pcall(function()
      local _ = fixture.setUp and fixture:setUp()
      test.run(test.self)
      _ = fixture.tearDown and fixture:tearDown()
    end)
    if not works then
      failures = math.min(failures + 1, 255) -- of an exit code
      io.stderr:write(test.name, ": ", tostring(fault), "\n")
    end
  end
  return failures
end

M.LuaUnit.runSuite = M.LuaUnit.run
M.run = M.LuaUnit.run
return M
