-- CUT: no key or reader of ours lives any longer than a TTL, whatever the clock did.
--
-- KEYS    the lock, or those of a list of names
-- ARGV    1 the TTL in ms, 2 how many slots the name has; 0: it has none
-- answer  how many were cut
--
-- > SET redlock:job d1d1d1d10000000000000000000000007dbaa3c9
-- > cut redlock:job , 60000 0 -> 0
-- > SET redlock:job d1d1d1d10000000000000000000000007dbaa3c9 PX 9000000
-- > cut redlock:job , 60000 0 -> 1
-- > SET redlock:job somebody PX 9000000
-- > cut redlock:job , 60000 0 -> 0
-- > SET redlock:job d1d1d1d1040000000000000000000000cbec648d PX 9000000
-- > cut redlock:job , 60000 0 -> 0
-- include: made
-- What a lock may not outlive, a mark may, and so may any kind that comes later.
local function locks(value)
    return string.sub(value, 9, 10) < '04' and made(value)
end
local pcall, most, slots = redis.pcall, tonumber(ARGV[1]), tonumber(ARGV[2])
local function readers(key)
    local time, count = pcall('TIME'), 0
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + most
    local late = pcall('ZRANGE', key, string.format('(%.0f', ends), '+inf', 'BYSCORE', 'LIMIT', 0, 256)
    for i = 1, #late do
        if locks(late[i]) and pcall('ZADD', key, 'XX', ends, late[i]) == 0 then count = count + 1 end
    end
    late = pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
    if count > 0 and late[2] then pcall('PEXPIREAT', key, late[2]) end
    return count
end
local function cut(key)
    local value = pcall('GET', key)
    if type(value) == 'table' then return readers(key) end
    if value and locks(value) and redis.call('PTTL', key) > most and pcall('PEXPIRE', key, most) == 1 then
        return 1
    end
    return 0
end
local count = 0
for i = 1, #KEYS do
    count = count + (slots == 0 and cut(KEYS[i]) or 0)
end
for i = 0, slots - 1 do
    count = count + cut(KEYS[1] .. ',' .. i)
end
return count
