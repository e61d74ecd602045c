-- DAEMONS: writes this daemon into the list of daemons, and reads a page of that list; see proto/daemons.h.
--
-- KEYS    the list, a hash
-- ARGV    1 this daemon's id, 2 its words, 3 where the page begins; -: without a page
-- answer  'taken': another daemon has this id; else lines: 'ok' or 'full' and where the next page begins (0: nowhere),
--         then of each daemon its id, the age of its entry in ms, and its words
--
-- What a daemon says from step= on changes while it runs, and so does not tell whose entry it is.
--
-- On a page a field that is no entry of a daemon is dropped, too. The answer stays below RESP_REPLY_BYTES.
--
-- > daemons redlock:,daemons , d1d1d1d1 host=h -  -> ok 0
-- > daemons redlock:,daemons , d1d1d1d1 host=x -  -> taken
-- > daemons redlock:,daemons , d3d3d3d3 "host=h step=1" -  -> ok 0
-- > daemons redlock:,daemons , d3d3d3d3 "host=h step=2" -  -> ok 0
-- > daemons redlock:,daemons , d3d3d3d3 "host=i step=2" -  -> taken
-- > daemons redlock:,daemons , d2d2d2d2 host=y 0  -> ok 0 d?d?d?d? [0-9]* host=? d?d?d?d? [0-9]* host=?
local pcall, key, argv = redis.pcall, KEYS[1], ARGV
local time = pcall('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function age(entry)
    local at = #entry <= 400 and string.match(entry, '^at=(%d+) ')
    local ms = at and now - at or -1
    return ms < 60000 and ms or -1
end
local function words(entry)
    return string.sub(entry, string.find(entry, ' ', 1, true) + 1)
end
local function whose(words)
    return string.match(words, '^(.-) step=') or words
end
local own = pcall('HGET', key, argv[1])
if type(own) == 'table' then return own end
if own and age(own) >= 0 and whose(words(own)) ~= whose(argv[2]) then return 'taken' end
local count, said = pcall('HLEN', key), 'full'
if type(count) == 'table' then return count end
if own or count < 16384 then
    said = 'ok'
    count = pcall('HSET', key, argv[1], string.format('at=%.0f ', now) .. argv[2])
    if type(count) == 'table' then return count end
end
pcall('PEXPIRE', key, 120000)
if argv[3] == '-' then return said .. ' 0' end
local scan = pcall('HSCAN', key, argv[3], 'COUNT', 64)
if scan.err then return scan end
local lines, bytes = {said .. ' ' .. scan[1]}, 0
for i = 1, #scan[2], 2 do
    local id, entry = scan[2][i], scan[2][i + 1]
    local ms = age(entry)
    if ms < 0 or #id ~= 8 then
        count = pcall('HDEL', key, id)
        if type(count) == 'table' then return count end
    elseif bytes < 60000 then
        lines[#lines + 1] = string.format('%s %.0f %s', id, ms, words(entry))
        bytes = bytes + #lines[#lines]
    end
end
return table.concat(lines, '\n')
