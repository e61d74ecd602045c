-- GROUP_SET and GROUP_NEW: write the group's key (proto/group.h).
--
-- KEYS    the group's key
-- ARGV    1 XX or NX, 2 the text, 3 the key's TTL in ms, 4 the length of a full quarantine, in ms
-- answer  1: written; 0: XX and there is none, NX and there is one, or it is of another group
--
-- The later from= of one run stays, with the words that belong to it, since two daemons may doubt a master at once.
-- A from= that lies further ahead than any quarantine gets back=. Words of later versions are dropped.
--
-- > group redlock:,group , XX "1 N=3 max_ttl=10 run=ab from=7" 9000 10          -> 0
-- > group redlock:,group , NX "1 N=3 max_ttl=10 run=ab from=7 by=d1" 9000 10    -> 1
-- > group redlock:,group , XX "1 N=3 max_ttl=10 run=ab from=6 why=old" 9000 10  -> 1
-- > GET redlock:,group                               -> 1 N=3 max_ttl=10 run=ab from=7 by=d1
-- > group redlock:,group , XX "1 N=5 max_ttl=10 run=ab from=7" 9000 10          -> 0
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return string.find(value.err, 'WRONGTYPE', 1, true) and 0 or value end
if (value and 'XX' or 'NX') ~= ARGV[1] then return 0 end
local pattern, back = '^(1 N=%d+ max_ttl=%d+) run=(%x+) from=(%d+)(.*)$', nil
local function word(words, name)
    return string.match(words .. ' ', ' ' .. name .. '=(%w+) ')
end
local head, run, from, words = string.match(ARGV[2], pattern)
local set = word(words, 'set')
if value then
    local head2, run2, from2, words2 = string.match(value, pattern)
    if head2 ~= head then return 0 end
    local set2 = word(words2, 'set')
    if set and set2 and set ~= set2 then return 0 end
    set = set or set2
    if run2 == run and tonumber(from2) >= tonumber(from) then
        from, words, back = from2, words2, tonumber(word(words2, 'back'))
    end
end
local time, full, ends = redis.pcall('TIME'), tonumber(ARGV[4]), tonumber(from)
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if back then ends = math.min(ends, back + full) end
if ends > now + full + 1000 then back = now end
local text = head .. ' run=' .. run .. ' from=' .. from
local function add(name, said)
    if said and #said < 17 then text = text .. ' ' .. name .. '=' .. said end
end
add('by', word(words, 'by'))
add('why', word(words, 'why'))
add('set', set)
add('back', back and string.format('%.0f', back))
local done = redis.pcall('SET', KEYS[1], text, 'PX', ARGV[3])
if done.err then return done end
return 1
