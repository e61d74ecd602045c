-- BREAK: deletes a key, or readers of it, that WHO has shown; see proto/who.h. Each daemon that loses one gets a
-- letter, this one, too.
--
-- KEYS    the lock; its queue
-- ARGV    1 x for a string, s for members of a sorted set, 2 nobody, so that every daemon may be woken, 3 how channels
--         begin, 4 the name, 5 how long the queue lives, in ms, 6 and more: the values, as text() tells them
-- answer  'ok' and how many were deleted
--
-- A sorted set keeps the TTL that its longest member needs.
--
-- > SET redlock:job d1d1d1d1
-- > break redlock:job redlock:,queue:job , x - redlock:,wake: job 9000 d2d2d2d2 -> ok 0
-- > break redlock:job redlock:,queue:job , x - redlock:,wake: job 9000 d1d1d1d1 -> ok 1
-- include: walk
-- include: text
-- include: bad
local key, count = KEYS[1], 0
if ARGV[1] == 'x' then
    local value = pcall('GET', key)
    if bad(value) then return value end
    if type(value) == 'string' and text(value) == ARGV[6] then
        count = pcall('DEL', key)
        if count == 1 then
            local whose = value
            -- include: letter
        end
    end
else
    local told = {}
    for i = 6, #ARGV do
        local removed = pcall('ZREM', key, ARGV[i])
        if bad(removed) then return removed end
        local whose = string.sub(ARGV[i], 1, 8)
        if removed == 1 and not told[whose] then
            told[whose] = 1
            -- include: letter
        end
        count = count + (type(removed) == 'number' and removed or 0)
    end
    local last = pcall('ZRANGE', key, 0, 0, 'REV', 'WITHSCORES')
    if last[2] then
        pcall('PEXPIREAT', key, last[2])
        return 'ok ' .. count
    end
end
if type(count) == 'table' then return count end
if count > 0 then walk() end
return 'ok ' .. count
