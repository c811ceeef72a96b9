local line = io.read("l")
if line:sub(1, 5) == "echo " then print("é " .. line:sub(6)) end
if line == "exit" then os.exit(3) end
if line == "crash" then error("no") end
while line == "spin" do end
local held = {}
while line == "memory" do held[#held + 1] = ("x"):rep(1 << 20) .. #held end
