-- LOOK: which slots of a name have a key. If the queue is given, this daemon joins it, as with ENQUEUE, and where
-- all slots have keys, the daemons that set them are told that somebody waits.
--
-- KEYS    the name; the number of its slots; its queue, if this daemon joins it
-- ARGV    1 how many slots, 2 this daemon, 3 how channels begin, 4 the name, 5 how long the queue and the number
--         live, in ms, 6 for how many ms this daemon's head has waited
-- answer  '<slots> <heard> <shortest> <longest> ' and a bit map of the slots that have keys: how many slots the name
--         has as the first daemon said it; 1: all who have one heard (else 0, or -1: PUBLISH is not allowed); the shortest
--         and the longest TTL of a slot, in ms (-1: not known)
--
-- Where another number is said, nobody is told: by that number a slot may be free, and a daemon that is told of a key
-- that it has no record of would wake this daemon at once (PASS), again and again.
--
-- The number lives on as long as daemons look that have the same. Another number, which was said while the master's clock
-- was ahead, lives no longer than that either.
--
-- > SET redlock:job,0 d1d1d1d1
-- > SET redlock:job,5 d1d1d1d1
-- > look redlock:job redlock:,slots:job , 6 0 0 0 9000 -> 6 1 -1 -1 !
-- > SET redlock:,slots:old 4 PX 9000000
-- > SET redlock:old,5 d1d1d1d1
-- > look redlock:old redlock:,slots:old , 6 0 0 0 9000 -> 4 0 -1 -1 *
-- > PTTL redlock:,slots:old                              -> [0-9][0-9][0-9][0-9]
-- > SET redlock:,slots:two 3
-- > SET redlock:two,0 d1d1d1d1
-- > SET redlock:two,1 d1d1d1d1
-- > look redlock:two redlock:,slots:two redlock:,queue:two , 2 d2d2d2d2 redlock:,wake: two 9000 0 -> 3 0 -1 -1 *
local pcall, prefix, number, queue, slots = redis.pcall, KEYS[1] .. ',', KEYS[2], KEYS[3], tonumber(ARGV[1])
local said = pcall('SET', number, slots, 'NX', 'PX', ARGV[5])
if type(said) == 'table' and said.err then return said end
said = said and slots or pcall('GET', number)
local late = type(said) == 'string' and pcall('PTTL', number) > tonumber(ARGV[5])
if said == ARGV[1] or late then pcall('PEXPIRE', number, ARGV[5]) end
if type(said) == 'table' then said = 0 end
if queue then
    local time = pcall('TIME')
    local added = pcall('ZADD', queue, 'NX', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[6], ARGV[2])
    if type(added) == 'table' then return added end
    pcall('PEXPIRE', queue, ARGV[5])
end
local map, taken, byte, ids, shortest, longest = {}, 0, 0, {}, -1, -1
for i = 0, slots - 1 do
    local value = pcall('GET', prefix .. i)
    if value then
        taken, byte = taken + 1, byte + 2 ^ (i % 8)
        if type(value) == 'string' then ids[string.sub(value, 1, 8)] = 1 end
    end
    if i % 8 == 7 or i == slots - 1 then
        map[#map + 1] = string.char(byte)
        byte = 0
    end
end
local agreed = tonumber(said) == slots
local heard = agreed and 1 or 0
if queue and taken == slots then
    for i = 0, slots - 1 do
        local ttl = pcall('PTTL', prefix .. i)
        longest = math.max(longest, ttl)
        if ttl >= 0 and (shortest < 0 or ttl < shortest) then shortest = ttl end
    end
    for id in pairs(ids) do
        if agreed and id ~= ARGV[2] then
            local ears = pcall('PUBLISH', ARGV[3] .. id, 't ' .. ARGV[4])
            if type(ears) == 'table' then
                heard = -1
            elseif ears == 0 and heard == 1 then
                heard = 0
            end
        end
    end
end
return string.format('%d %d %d %d ', tonumber(said) or 0, heard, shortest, longest) .. table.concat(map)
