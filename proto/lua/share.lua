-- SHARE and SHARE_AT: add a reader to a name.
--
-- KEYS    the lock; SHARE: its writer's mark
-- ARGV    1 the token; SHARE: 2 its TTL in ms, 3 this daemon, 4 for how many ms the reader has waited; SHARE_AT: 2 the
--         instant at which the reader's time is over
-- answer  1: added; 0: somebody else has the name or a mark bars it; SHARE_AT: or it is a reader already, or its time
--         is over
--
-- Where readers have a name, its key is a sorted set: each member is the token of a reader, with the instant of this
-- master's clock at which that reader's time is over. The key's TTL is that of the last reader. It is written before a
-- member is added, where there are others, and once more behind it: a full memory refuses only the first, and the key
-- is never without a TTL, even if its last instant passed in between, so that it was gone before the member came.
--
-- A user that could not take the reader away again, for want of a right, must not add it: hence the ZREM of nothing.
-- It comes last where the reader is the first one, since a script that has written before fills a full memory.
--
-- > share redlock:job redlock:,writer:job , t1 60000 d1d1d1d1 0 -> 1
-- > share redlock:job redlock:,writer:job , t2 60000 d1d1d1d1 0 -> 1
-- > ZRANGE redlock:job 0 -1                                     -> t1 t2
-- > share redlock:job , t3 1000                                 -> 0
-- > SET redlock:other t4
-- > share redlock:other redlock:,writer:other , t1 60000 d1d1d1d1 0 -> 0
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'string' then return 0 end
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
-- include: clock
-- include: bars
local ends = tonumber(ARGV[2])
if KEYS[2] then
    ends = now + ends
    if bars(KEYS[2], ARGV[3], now - ARGV[4]) then return 0 end
elseif ends <= now then
    return 0
end
-- include: over
if not KEYS[2] and pcall('ZSCORE', key, ARGV[1]) then return 0 end
local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
local longest, done = last[2] and math.max(ends, tonumber(last[2])) or ends, last[2] and pcall('ZREM', key, '')
if type(done) == 'table' then return done end
done = last[2] and pcall('PEXPIREAT', key, longest)
if type(done) == 'table' then return done end
done = pcall('ZADD', key, 'GT', ends, ARGV[1])
if type(done) == 'table' then return done end
done = pcall('PEXPIREAT', key, longest)
if type(done) == 'number' and not last[2] then done = pcall('ZREM', key, '') end
if type(done) == 'number' then return 1 end
if last[2] then
    pcall('ZREM', key, ARGV[1])
else
    pcall('DEL', key)
end
return done
