-- WHO: who has a name, and who waits for it; see proto/who.h. The script writes nothing.
--
-- KEYS    the lock; its queue; how many slots it has; what its holder tells
-- answer  lines: 'ok', the number of slots and whether lines are missing; then 'x' (the key), a number (a slot), 's' (a
--         reader) or 'q' (a daemon in the queue), with a value and a time in ms: the TTL, or for how long it has waited;
--         behind 'x', 'd' with what its holder tells: the fence, since when it is held, the text
--
-- The slots' keys are made here: where their number has run out, all there could be. The answer stays below
-- RESP_REPLY_BYTES.
--
-- > who redlock:job redlock:,queue:job redlock:,slots:job -> ok 0 0
-- > SET redlock:job d1
-- > who redlock:job redlock:,queue:job redlock:,slots:job -> ok 0 0 x d1 -1
-- > SET redlock:,data:job "d1 17 1000 a:1"
-- > who redlock:job redlock:,queue:job redlock:,slots:job redlock:,data:job -> ok 0 0 x d1 -1 d 17 1000 a:1
-- > SET redlock:,data:job "d2 17 1000 a:1"
-- > who redlock:job redlock:,queue:job redlock:,slots:job redlock:,data:job -> ok 0 0 x d1 -1
local pcall, lines, bytes, cut = redis.pcall, {''}, 0, 0
local time = pcall('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- include: text
-- include: bad
local function add(kind, value, ms)
    local line = string.format('%s %s %.0f', kind, value, ms)
    if bytes + #line < 60000 then
        lines[#lines + 1] = line
        bytes = bytes + #line + 1
    else
        cut = 1
    end
end
local function tells(value)
    local told, before = pcall('GET', KEYS[4]), value .. ' '
    if type(told) ~= 'string' or #told > 400 or string.sub(told, 1, #before) ~= before then return end
    told = string.match(told, '^%d+ %d+ [!#-~]+$', #before + 1)
    if told then lines[#lines + 1] = 'd ' .. told end
end
local function look(key, kind)
    local value = pcall('GET', key)
    if type(value) == 'string' then
        add(kind, text(value), pcall('PTTL', key))
        if kind == 'x' and KEYS[4] then tells(value) end
    elseif bad(value) then
        return value
    elseif value then
        local readers = pcall('ZRANGE', key, 0, 511, 'REV', 'WITHSCORES')
        if bad(readers) then return readers end
        if readers.err or kind ~= 'x' then
            add(kind, '?', pcall('PTTL', key))
            return
        end
        if #readers == 1024 then cut = 1 end
        for i = 1, #readers, 2 do
            local left = readers[i + 1] - now
            if left > 0 then add('s', text(readers[i]), left) end
        end
    end
end
local err = look(KEYS[1], 'x')
if err then return err end
local slots = pcall('GET', KEYS[3])
if bad(slots) then return slots end
slots = type(slots) == 'string' and #slots < 5 and tonumber(slots) or 0
if slots < 1 or slots > 1024 or slots % 1 ~= 0 then slots = 0 end
for i = 0, (slots == 0 and #lines == 1 and 1024 or slots) - 1 do
    err = look(KEYS[1] .. ',' .. i, i)
    if err then return err end
end
local waiting = pcall('ZRANGE', KEYS[2], 0, 255, 'WITHSCORES')
if bad(waiting) then return waiting end
if not waiting.err then
    for i = 1, #waiting, 2 do
        if #waiting[i] == 8 then add('q', text(waiting[i]), math.max(0, now - waiting[i + 1])) end
    end
end
lines[1] = string.format('ok %d %d', slots, cut)
return table.concat(lines, '\n')
