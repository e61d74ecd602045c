-- now: this master's clock, in ms.
local pcall, key, time = redis.pcall, KEYS[1], redis.pcall('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
