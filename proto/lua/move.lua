-- MOVE: puts another token into the key, or into a reader's place, and keeps the TTL.
--
-- KEYS    the lock
-- ARGV    1 the token that is there, 2 the new one, 3 another one that may be there instead of the first (RESUME)
-- answer  1: moved; 0: not ours
--
-- > SET redlock:job t1
-- > move redlock:job , t1 t2 -> 1
-- > GET redlock:job          -> t2
-- > move redlock:job , t1 t3 -> 0
local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] or value == ARGV[3] then
    local done = redis.pcall('SET', KEYS[1], ARGV[2], 'KEEPTTL')
    if done.err then return done end
    return 1
end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
if type(value) == 'table' then
    -- include: clock
    local ends = pcall('ZSCORE', key, ARGV[1])
    if type(ends) == 'string' and tonumber(ends) > now then
        local done = pcall('ZADD', key, ends, ARGV[2])
        if type(done) == 'table' then return done end
        pcall('ZREM', key, ARGV[1])
        return 1
    end
end
return 0
