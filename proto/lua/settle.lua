-- SETTLE: the key has the token or the new one; it gets the new one, and the TTL if that is longer.
--
-- KEYS    the lock
-- ARGV    1 the token, 2 the new one, 3 the TTL in ms
-- answer  the TTL that the key has now, in ms; -2: neither token is there
--
-- PEXPIRE runs even where it lengthens nothing: a script that has written before may SET when the memory is full.
--
-- > SET redlock:job t1 PX 5000
-- > settle redlock:job , t1 t2 60000 -> 60000
-- > settle redlock:job , t1 t2 60000 -> 60000
-- > settle redlock:job , t3 t4 60000 -> -2
local value = redis.pcall('GET', KEYS[1])
if value == ARGV[1] or value == ARGV[2] then
    local ttl = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[3]))
    local expires = redis.pcall('PEXPIRE', KEYS[1], ttl)
    if type(expires) == 'table' then return expires end
    if value == ARGV[1] then
        local done = redis.pcall('SET', KEYS[1], ARGV[2], 'KEEPTTL')
        if done.err then return done end
    end
    return ttl
end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
return -2
