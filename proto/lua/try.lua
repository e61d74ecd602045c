-- TRY: tries what the scripts for exclusive locks call, with a key that lives for 2 s at most.
--
-- KEYS    a key of this daemon alone
-- answer  0: all of it works; else which does not (enum lacking)
--
-- An error that says nothing of the command is the answer.
--
-- > try redlock:,try:d1d1d1d1    -> 0
-- > EXISTS redlock:,try:d1d1d1d1 -> 0
local pcall, key = redis.pcall, KEYS[1]
local function no(answer, lacking)
    local text = type(answer) == 'table' and answer.err or ''
    for _, class in ipairs({'OOM', 'READONLY', 'MISCONF', 'NOREPLICAS', 'LOADING', 'BUSY'}) do
        if string.find(text, class, 1, true) then return answer end
    end
    return lacking
end
local answer = pcall('SET', key, 1, 'PX', 1000)
if answer.err then return no(answer, 1) end
answer = pcall('PEXPIRE', key, 2000)
if answer ~= 1 then return no(answer, 2) end
local function short()
    answer = pcall('PTTL', key)
    return type(answer) ~= 'number' or answer <= 1000
end
if short() then return no(answer, 3) end
answer = pcall('SET', key, 2, 'KEEPTTL')
if answer.err or short() then return no(answer, 4) end
answer = pcall('GET', key)
if answer ~= '2' then return no(answer, 5) end
answer = pcall('DEL', key)
if answer ~= 1 then return no(answer, 6) end
return 0
