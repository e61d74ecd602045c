-- EXTEND of a reader: the time of `token` in the sorted set `key` lasts for `ttl` ms from `now` on, if that is longer,
-- and the key's TTL with it. An error leaves that time as it is.
-- ends: the instant at which the reader's time is over; 0: the token is no reader.
local ends, wanted = pcall('ZSCORE', key, token), now + ttl
ends = type(ends) == 'string' and tonumber(ends) or 0
if ends > now and ends < wanted then
    local last = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
    local done = last[2] and pcall('PEXPIREAT', key, math.max(wanted, tonumber(last[2])))
    if type(done) == 'number' then done = pcall('ZADD', key, 'XX', 'GT', wanted, token) end
    if type(done) == 'number' then ends = wanted end
end
