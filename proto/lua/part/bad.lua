-- bad(answer): whether it is an error that tells more than the type of a key.
local function bad(answer)
    return type(answer) == 'table' and answer.err and not string.find(answer.err, 'WRONGTYPE', 1, true)
end
