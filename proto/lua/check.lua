-- CHECK: whether the key is ours, and for how long. It changes nothing.
--
-- KEYS    the lock
-- ARGV    1 the token
-- answer  the TTL that is left, in ms (0 for a key that has none); -2: not ours
--
-- > SET redlock:job t1
-- > check redlock:job , t1 -> 0
-- > check redlock:job , t2 -> -2
local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] then return math.max(0, redis.call('PTTL', KEYS[1])) end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
if type(value) == 'table' then
    -- include: clock
    local ends = pcall('ZSCORE', key, ARGV[1])
    if type(ends) == 'string' and tonumber(ends) > now then return tonumber(ends) - now end
end
return -2
