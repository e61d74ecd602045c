-- text(value): as proto/who.h shows it.
local function text(value)
    return #value <= 64 and string.match(value, '^[%x,]+$') or '?' .. redis.sha1hex(value)
end
