/* The Lua scripts. Each reads by redis.pcall(), so that a key of another type counts as "not the token"
 * for that key alone; any other error of the server is returned as it is. Writes go through pcall(), too,
 * because Redis 6.2 would hide the first word of an error (READONLY, ...) behind "ERR Error running
 * script". The scripts have no "#!lua" header: with it a server that is out of memory would refuse even
 * the DEL. */
#include "proto/resp.h"

#include <assert.h>

#define READ      "local v=redis.pcall('GET',KEYS[1]) "
#define OTHERWISE "if type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v end "

static const struct {
    const char *text;
    const char *sha1; /* of text, for EVALSHA */
} scripts[RESP_SCRIPTS] = {
    /* RELEASE: compare and delete, as on the Redlock page. 1: deleted, 0: not ours. The second key, if
     * given, is the mark of a daemon that waits for the name; 2: deleted, and a daemon other than ARGV[2]
     * waits. */
    {READ "if v==ARGV[1] then "
          "local n=redis.pcall('DEL',KEYS[1]) "
          "if n==1 and KEYS[2] then "
          "local w=redis.pcall('GET',KEYS[2]) "
          "if type(w)=='string' and w~=ARGV[2] then return 2 end end "
          "return n end " OTHERWISE "return 0",
     "8b3dbed48cc72340f86949176fb18bcf9cda7d75"},
    /* EXTEND of 1 to 64 keys, with a token and a TTL for each. The script uses PEXPIRE, never SET, and
     * never shortens a TTL, since a late or short EXTEND must not cut the validity that a holder was told.
     * For each key the script returns the TTL that the key has now; -2: not ours. A PEXPIRE with GT
     * that lengthens the TTL saves the PTTL, but GT and REDIS_VERSION_NUM exist only from Redis 7 on. A key
     * without a TTL, which GT refuses, gets one from the plain PEXPIRE. An error counts for all keys, even
     * if some have been extended before: nobody relies on the longer TTL of these, so it does no harm. */
    {"local f,k,a,n,g=redis.pcall,KEYS,ARGV,{},redis.REDIS_VERSION_NUM "
     "for i=1,#k do local v,t=f('GET',k[i]),a[2*i] "
     "if v==a[2*i-1] then "
     "local m=tonumber(t) "
     "if not g or f('PEXPIRE',k[i],t,'GT')~=1 then "
     "local l=redis.call('PTTL',k[i]) "
     "if l<m then "
     "local e=f('PEXPIRE',k[i],t) "
     "if type(e)=='table' then return e end "
     "else m=l end end "
     "n[i]=m "
     "elseif type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v "
     "else n[i]=-2 end end return n",
     "03cbc62660bf9ad424fe215f2d348d508f66c863"},
    /* CHECK: the TTL that is left (0 for a key that has none); -2: not ours. */
    {READ "if v==ARGV[1] then return math.max(0,redis.call('PTTL',KEYS[1])) end " OTHERWISE "return -2",
     "1bfe6359abdbd1ab95fdfc2615a42c8c9852138c"},
    /* MOVE: replaces the token and keeps the TTL. 1: moved, 0: not ours. */
    {READ "if v==ARGV[1] then "
          "local r=redis.pcall('SET',KEYS[1],ARGV[2],'KEEPTTL') "
          "if r.err then return r end "
          "return 1 end " OTHERWISE "return 0",
     "2da0b019ea56da9797c26b749601bbd42649bd99"},
};

const char *resp_script_text(unsigned script)
{
    assert(script < RESP_SCRIPTS);
    return scripts[script].text;
}

const char *resp_script_sha1(unsigned script)
{
    assert(script < RESP_SCRIPTS);
    return scripts[script].sha1;
}

int resp_script_of(enum command_verb verb)
{
    switch (verb) {
    case COMMAND_RELEASE: return 0;
    case COMMAND_EXTEND: return 1;
    case COMMAND_CHECK: return 2;
    case COMMAND_MOVE: return 3;
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW:
    case COMMAND_HEAL:
    case COMMAND_GET:
    case COMMAND_WANT:
    case COMMAND_CLIENT_ID:
    case COMMAND_INFO:
    case COMMAND_KILL:
    case COMMAND_SET:
    case COMMAND_ZADD:
    case COMMAND_ZSCORE: break;
    }
    return -1;
}
