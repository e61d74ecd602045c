-- EXTEND_ALL and CHECK_ALL: EXTEND and CHECK of a list of names, if all keys are ours.
--
-- KEYS    the locks
-- ARGV    1 the value, 2 the TTL in ms that none falls short of (CHECK_ALL: 0), 3 the longest one that a key may keep
--         (none or 0: any)
-- answer  the shortest TTL of the keys, in ms; -2: one of them is not ours
--
-- All have the same TTL, unless somebody else changed one.
--
-- > SET redlock:a t1
-- > extend_all redlock:a redlock:b , t1 60000 0 -> -2
-- > SET redlock:b t1
-- > extend_all redlock:a redlock:b , t1 60000 0 -> 60000
-- > extend_all redlock:a redlock:b , t1 0       -> [56]????
local not_ours = -2
-- include: all_ours
local ttl, most, shortest = tonumber(argv[2]), tonumber(argv[3] or 0), nil
for i = 1, #keys do
    local left = redis.call('PTTL', keys[i])
    if left < ttl and ttl > 0 then
        local done = pcall('PEXPIRE', keys[i], argv[2])
        if type(done) == 'table' then return done end
        left = ttl
    elseif most > 0 and left > most then
        pcall('PEXPIRE', keys[i], most)
        left = most
    end
    if not shortest or left < shortest then shortest = left end
end
return math.max(0, shortest)
