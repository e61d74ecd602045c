-- EXTEND of 1 to 64 keys: each that is ours gets the TTL, if that is longer than what it has.
--
-- KEYS    the locks
-- ARGV    a token and a TTL in ms for each, and behind all of them the longest TTL that a key may keep; 0: any
-- answer  for each key the TTL that it has now; -2: not ours
--
-- The script uses PEXPIRE, never SET, and never shortens a TTL to the one asked for, since a late or short EXTEND must
-- not cut the validity that a holder was told. A PEXPIRE with GT that lengthens the TTL saves the PTTL, but GT and
-- REDIS_VERSION_NUM exist only from Redis 7 on. A key without a TTL, which GT refuses, gets one from the plain PEXPIRE.
-- An error counts for all keys, even if some have been extended before: nobody relies on the longer TTL of these, so it
-- does no harm. Where readers have the key, an error leaves the reader's time as it is, and is no other key's.
--
-- A clock that was set back lets keys live for hours. Hence the longest TTL: a key or a reader's time is cut to it.
-- Nobody was told more than that, so that no holder suffers. A cut that is refused does no harm.
--
-- > SET redlock:a t1 PX 5000
-- > SET redlock:b t1 PX 9000000
-- > extend redlock:a redlock:b redlock:c , t1 60000 t1 60000 t1 60000 100000 -> 60000 100000 -2
--
-- A name is kept for exactly as long as was asked, whatever its lock had left: the TTL is the longest one, too.
--
-- > SET redlock:kept t1 PX 60000
-- > extend redlock:kept , t1 5000 5000 -> 5000
-- > extend redlock:kept , t1 90000 90000 -> 90000
local pcall, keys, argv, answer, version = redis.pcall, KEYS, ARGV, {}, redis.REDIS_VERSION_NUM
local most = tonumber(argv[2 * #keys + 1] or 0)
for i = 1, #keys do
    local value, ttl = pcall('GET', keys[i]), argv[2 * i]
    if value == argv[2 * i - 1] then
        local now_ttl = tonumber(ttl)
        if not version or pcall('PEXPIRE', keys[i], ttl, 'GT') ~= 1 then
            local had = redis.call('PTTL', keys[i])
            if had < now_ttl then
                local done = pcall('PEXPIRE', keys[i], ttl)
                if type(done) == 'table' then return done end
            elseif most > 0 and had > most then
                pcall('PEXPIRE', keys[i], most)
                now_ttl = most
            else
                now_ttl = had
            end
        end
        answer[i] = now_ttl
    elseif type(value) == 'table' then
        if not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
        local time = pcall('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local key, token = keys[i], argv[2 * i - 1]
        -- include: longer
        if most > 0 and ends > now + most then
            ends = now + most
            pcall('ZADD', key, 'XX', ends, token)
            local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
            if last[2] then pcall('PEXPIREAT', key, last[2]) end
        end
        answer[i] = ends > now and ends - now or -2
    else
        answer[i] = -2
    end
end
return answer
