-- PASS and ALONG: wake the first of the queue if the name is free, since the one that was woken does not want it.
--
-- KEYS    the lock; its queue; PASS: how many slots the name has; ALONG: its writer's mark
-- ARGV    1 0, 2 this daemon, 3 how channels begin, 4 the name, 5 how long the queue lives, in ms,
--         6 PASS: -, ALONG: none
-- answer  0: the keys are there; else as walk() tells it
--
-- If there is a key, the daemon that set it is told that somebody waits; not where a mark keeps the name, which nobody
-- holds, nor where it has slots, since those who wait for one look again and again. ALONG also removes the mark of this daemon, and readers that have the name keep
-- nobody from being woken.
--
-- > SET redlock:job d1d1d1d1
-- > pass redlock:job redlock:,queue:job redlock:,slots:job , 0 d1d1d1d1 redlock:,wake: job 9000 -  -> 0
-- > DEL redlock:job
-- > pass redlock:job redlock:,queue:job redlock:,slots:job , 0 d1d1d1d1 redlock:,wake: job 9000 -  -> 1
-- > ZADD redlock:,queue:job 1 d2d2d2d2
-- > pass redlock:job redlock:,queue:job redlock:,writer:job , 0 d1d1d1d1 redlock:,wake: job 9000   -> -1
-- include: walk
-- include: made
if ARGV[6] then
    local slots = pcall('GET', KEYS[3])
    slots = type(slots) == 'string' and tonumber(slots)
    if slots then
        for i = 0, math.min(slots, 1024) - 1 do
            if not pcall('GET', KEYS[1] .. ',' .. i) then return walk() end
        end
        return 0
    end
end
local along = not ARGV[6]
local value, mark = pcall('GET', KEYS[1]), along and pcall('GET', KEYS[3])
if type(mark) == 'string' and string.match(mark, '%x+$') == ARGV[2] then pcall('DEL', KEYS[3]) end
if not value or (along and type(value) == 'table') then return walk() end
if type(value) == 'string' and string.sub(value, 1, 8) ~= ARGV[2] and not marks(value) then
    say(string.sub(value, 1, 8), 't')
end
return 0
