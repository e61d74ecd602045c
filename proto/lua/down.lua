-- DOWN: a writer's key becomes that of one reader, with the end that it had, or later.
--
-- KEYS    the lock
-- ARGV    1 the reader's token, 2 its TTL in ms, as for EXTEND, 3 the writer's token, 4 another one that may be there
-- answer  the TTL that the reader has now, in ms; -2: none of the three is there
--
-- A PEXPIREAT that lengthens nothing comes first, since a full memory refuses nothing to a script that has written.
-- Whether the user has the right to what follows shows before the DEL: a string answers WRONGTYPE to both.
--
-- > SET redlock:job t1
-- > down redlock:job , t2 60000 t1 t0 -> 60000
-- > ZRANGE redlock:job 0 -1           -> t2
-- > down redlock:job , t3 60000 t1 t0 -> -2
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
local pcall, key, ttl = redis.pcall, KEYS[1], tonumber(ARGV[2])
local writer = value == ARGV[3] or value == ARGV[4]
local left = writer and redis.call('PTTL', key) or -1
if left < 0 then left = ttl end
local time = pcall('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if writer then
    local done = pcall('PEXPIREAT', key, now + left + 1)
    if type(done) == 'table' then return done end
    ttl = math.max(ttl, left)
    for i = 1, 2 do
        done = i == 1 and pcall('ZREM', key, '') or pcall('ZADD', key, 0, '')
        if type(done) == 'table' and not string.find(done.err, 'WRONGTYPE', 1, true) then return done end
    end
    done = pcall('DEL', key)
    if type(done) == 'table' then return done end
    done = pcall('ZADD', key, now + ttl, ARGV[1])
    if type(done) == 'table' then return done end
    pcall('PEXPIREAT', key, now + ttl)
    return ttl
end
if type(value) ~= 'table' then return -2 end
local token = ARGV[1]
-- include: longer
return ends > now and ends - now or -2
