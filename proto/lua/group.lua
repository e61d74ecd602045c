-- GROUP_SET and GROUP_NEW: write the group's key (proto/group.h).
--
-- KEYS    the group's key
-- ARGV    1 XX or NX, 2 the text, 3 the key's TTL in ms (0: none), 4 the length of a full quarantine, in ms
-- answer  1: written; 0: XX and there is none, NX and there is one, or it is of another group, or of a later step
--
-- The later from= of one run stays, with the words that belong to it, since two daemons may doubt a master at once.
-- A from= that lies further ahead than any quarantine gets back=. The step never falls; since= is the TIME at which it
-- was raised, and is never ahead of TIME. Words of later versions are dropped.
--
-- > group redlock:,group , XX "1 N=3 max_ttl=10 run=ab from=7" 9000 10          -> 0
-- > group redlock:,group , NX "1 N=3 max_ttl=10 run=ab from=7 by=d1" 9000 10    -> 1
-- > group redlock:,group , XX "1 N=3 max_ttl=10 run=ab from=6 why=old" 9000 10  -> 1
-- > GET redlock:,group                               -> 1 N=3 max_ttl=10 run=ab from=7 by=d1
-- > group redlock:,group , XX "1 N=5 max_ttl=10 run=ab from=7" 9000 10          -> 0
-- > group redlock:,group , XX "2 step=1 max_ttl=9 run=ab from=5 since=1 set=e1 before=e0" 0 10  -> 1
-- > GET redlock:,group      -> 2 step=1 max_ttl=9 run=ab from=7 since=1???????????? set=e1 before=e0 by=d1
-- > PTTL redlock:,group                              -> -1
-- > group redlock:,group , XX "2 step=1 max_ttl=9 run=ab from=8 since=1 settled set=e1 before=e0" 0 10 -> 1
-- > group redlock:,group , XX "2 step=1 max_ttl=9 run=ab from=5 since=1 set=e1 before=e0" 0 10  -> 1
-- > GET redlock:,group      -> 2 step=1 max_ttl=9 run=ab from=8 since=1???????????? settled set=e1 before=e0
-- > group redlock:,group , XX "2 step=1 max_ttl=9 run=ab from=8 since=1 set=e2 before=e0" 0 10  -> 0
-- > group redlock:,group , XX "1 N=3 max_ttl=10 run=ab from=9" 9000 10          -> 0
-- > group redlock:,group , XX "2 step=2 max_ttl=9 run=cd from=3 since=1 set=e2 before=e1" 0 10  -> 1
-- > GET redlock:,group      -> 2 step=2 max_ttl=9 run=cd from=3 since=1???????????? set=e2 before=e1
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return string.find(value.err, 'WRONGTYPE', 1, true) and 0 or value end
if (value and 'XX' or 'NX') ~= ARGV[1] then return 0 end
local pattern, back, since = '^([12] %a+=%d+ max_ttl=%d+) run=(%x+) from=(%d+)(.*)$', nil, nil
local function word(words, name)
    return string.match(words .. ' ', ' ' .. name .. '=(%w+) ')
end
local function step_of(text)
    return tonumber(string.match(text or '', '^2 step=(%d+) ')) or 0
end
local head, run, from, words = string.match(ARGV[2], pattern)
local step, set, before = step_of(head), word(words, 'set'), word(words, 'before')
local settled = string.find(words .. ' ', ' settled ', 1, true)
if value then
    local head2, run2, from2, words2 = string.match(value, pattern)
    if not head2 or step_of(head2) > step then return 0 end
    if step_of(head2) == step then
        local set2 = word(words2, 'set')
        if head2 ~= head or word(words2, 'before') ~= before then return 0 end
        if set and set2 and set ~= set2 then return 0 end
        set, since = set or set2, word(words2, 'since')
        settled = settled or string.find(words2 .. ' ', ' settled ', 1, true)
    end
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
if step > 0 then
    since = math.min(tonumber(since) or now, now)
    add('since', string.format('%.0f', since))
    if settled then text = text .. ' settled' end
    add('set', set)
    add('before', before)
end
add('by', word(words, 'by'))
add('why', word(words, 'why'))
if step == 0 then add('set', set) end
add('back', back and string.format('%.0f', back))
local done = redis.pcall('SET', KEYS[1], text, unpack(ARGV[3] == '0' and {} or {'PX', ARGV[3]}))
if done.err then return done end
return 1
