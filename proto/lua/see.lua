-- SEE: who has each of up to 64 names, for those who watch them. The daemons that set the keys are told which daemon
-- watches them.
--
-- KEYS    for each name: the lock; what its holder tells; how many slots it has
-- ARGV    1 this daemon, 2 how channels begin, and behind these the names
-- answer  for each name a line: '-' (nobody has it), 's' (readers do), 'l' (some of its slots are taken), or 'x' with the
--         value and the TTL in ms, and behind it, if its holder tells something, the fence, since when, and the text
--
-- The script writes nothing. A key of another type counts as readers'. Of a name whose number of slots nobody has said
-- lately, the first 64 are looked at. A daemon is told of several names at once, in messages that it reads as a whole.
--
-- > see redlock:job redlock:,data:job redlock:,slots:job , d1d1d1d1 redlock:,wake: job -> -
-- > SET redlock:job d2d2d2d2 PX 9000
-- > see redlock:job redlock:,data:job redlock:,slots:job , d1d1d1d1 redlock:,wake: job -> x d2d2d2d2 ????
-- > SET redlock:,data:job "d2d2d2d2 17 1000 a:1"
-- > see redlock:job redlock:,data:job redlock:,slots:job , d1d1d1d1 redlock:,wake: job -> x d2d2d2d2 ???? 17 1000 a:1
-- > see redlock:a redlock:,data:a redlock:,slots:a redlock:job - - , d1d1d1d1 redlock:,wake: a job -> - x d2d2d2d2 ????
-- > DEL redlock:job
-- > SET redlock:,slots:job 2
-- > SET redlock:job,1 d2d2d2d2
-- > see redlock:job redlock:,data:job redlock:,slots:job , d1d1d1d1 redlock:,wake: job -> l
local pcall, keys, argv, lines, letters = redis.pcall, KEYS, ARGV, {}, {}
-- include: bad
-- include: text
local function say(id)
    pcall('PUBLISH', argv[2] .. id, 'v ' .. argv[1] .. letters[id])
    letters[id] = ''
end
local function tell(value, name)
    local id = string.sub(value, 1, 8)
    if #value < 40 or id == argv[1] then return end
    letters[id] = letters[id] or ''
    if #letters[id] + #name > 1000 then say(id) end
    letters[id] = letters[id] .. ' ' .. name
end
local function slots(key, number)
    number = pcall('GET', number)
    number = type(number) == 'string' and #number < 5 and tonumber(number) or 64
    for i = 0, math.min(number, 1024) - 1 do
        if pcall('PTTL', key .. ',' .. i) ~= -2 then return 'l' end
    end
    return '-'
end
local function seen(key, value, tells)
    local told, before = pcall('GET', tells), value .. ' '
    local line = string.format('x %s %d', text(value), pcall('PTTL', key))
    if type(told) ~= 'string' or #told > 400 or string.sub(told, 1, #before) ~= before then return line end
    told = string.match(told, '^%d+ %d+ [!#-~]+$', #before + 1)
    return told and line .. ' ' .. told or line
end
for i = 1, #keys / 3 do
    local key = keys[3 * i - 2]
    local value = pcall('GET', key)
    if bad(value) then return value end
    if type(value) == 'table' then
        lines[i] = 's'
    elseif value then
        lines[i] = seen(key, value, keys[3 * i - 1])
        tell(value, argv[2 + i])
    else
        lines[i] = slots(key, keys[3 * i])
    end
end
for id, names in pairs(letters) do
    if names ~= '' then say(id) end
end
return table.concat(lines, '\n')
