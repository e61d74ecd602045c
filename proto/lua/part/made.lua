-- made(value): whether a daemon made the value: a token (see daemon/coordinator/base/token.h), or that of a list with the
-- list's hash behind it. marks(value): whether it is a mark, which keeps a name though nobody holds it.
local function made(value)
    local token, rest = string.sub(value, 1, 40), string.sub(value, 41)
    if #token < 40 or string.find(token, '[^%da-f]') then return false end
    if rest ~= '' and (#rest ~= 9 or not string.find(rest, '^,[%da-f]+$')) then return false end
    local hash = 2166136261
    for i = 1, 31, 2 do
        local byte, low = tonumber(string.sub(token, i, i + 1), 16), hash % 256
        hash = hash - low + bit.bxor(low, byte)
        hash = (hash * 403 + hash % 256 * 16777216) % 4294967296
    end
    return string.format('%08x', hash) == string.sub(token, 33)
end
local function marks(value)
    return string.sub(value, 9, 10) == '04' and #value == 40 and made(value)
end
