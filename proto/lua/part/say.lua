-- say(id, what): a message about the name to that daemon. The answer tells how many heard it.
local pcall, queue = redis.pcall, KEYS[2]
local function now()
    local time = pcall('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function say(id, what)
    return pcall('PUBLISH', ARGV[3] .. id, what .. ' ' .. ARGV[4])
end
