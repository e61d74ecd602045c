-- DATA and ADOPT: what the holder of a lock tells others, who read it with WHO.
--
-- KEYS    the lock; what its holder tells
-- ARGV    1 the token, 2 the fence, 3 since when the lock is held, in ms, 4 the text; 5: a token that the lock had before
--         (RESUME): then 3 and 4 are as that told them
-- answer  1: told; with ARGV[5]: the time and the text; 0: not ours, or the token before told nothing
--
-- What is told begins with the token, and whoever reads it compares that with the value of the key: so it ends together
-- with the lock, whichever way that ends, and nobody takes it for a later holder's.
--
-- > SET redlock:job t1 PX 60000
-- > data redlock:job redlock:,data:job , t2 17 1000 a:1    -> 0
-- > data redlock:job redlock:,data:job , t1 17 1000 a:1    -> 1
-- > GET redlock:,data:job                                  -> t1 17 1000 a:1
-- > SET redlock:job t2 PX 60000
-- > data redlock:job redlock:,data:job , t2 18 0 - t3      -> 0
-- > data redlock:job redlock:,data:job , t2 18 0 - t1      -> 1000 a:1
-- > GET redlock:,data:job                                  -> t2 18 1000 a:1
local pcall, told = redis.pcall, ARGV[3] .. ' ' .. ARGV[4]
local value = pcall('GET', KEYS[1])
if value ~= ARGV[1] then
    -- include: bad
    return bad(value) and value or 0
end
if ARGV[5] then
    local before, token = pcall('GET', KEYS[2]), ARGV[5] .. ' '
    if type(before) ~= 'string' or string.sub(before, 1, #token) ~= token then return 0 end
    told = string.match(before, '^%d+ (.*)$', #token + 1)
    if not told then return 0 end
end
local done = pcall('SET', KEYS[2], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. told, 'PX', math.max(1, pcall('PTTL', KEYS[1])))
if done.err then return done end
return ARGV[5] and told or 1
