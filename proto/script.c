/* The Lua scripts. Each reads by redis.pcall(), so that a key of another type counts as "not the token"
 * for that key alone; any other error of the server is returned as it is. Writes go through pcall(), too,
 * because Redis 6.2 would hide the first word of an error (READONLY, ...) behind "ERR Error running
 * script". The scripts have no "#!lua" header: with it a server that is out of memory would refuse even
 * the DEL. */
#include "proto/resp.h"

#include <assert.h>

#define READ      "local v=redis.pcall('GET',KEYS[1]) "
#define OTHERWISE "if type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v end "

/* Where readers have a name, its key is a sorted set: each member is the token of a reader, with the instant of
 * this master's clock at which that reader's time is over. The key's TTL is that of the last reader. It is
 * written before a member is added, where there are others, and once more behind it: a full memory refuses only
 * the first, and the key is never without a TTL, even if its last instant passed in between, so that it was gone
 * before the member came. A reader whose time is over counts as gone: OVER removes such readers. A key of yet
 * another type is not ours. */
#define CLOCK "local f,k,t=redis.pcall,KEYS[1],redis.pcall('TIME') local now=t[1]*1000+math.floor(t[2]/1000) "
#define OVER                                                                     \
    "local d=f('ZRANGE',k,'-inf',now,'BYSCORE') "                                \
    "if d.err then return string.find(d.err,'WRONGTYPE',1,true) and 0 or d end " \
    "for i=1,#d do f('ZREM',k,d[i]) end "
#define LAST "local z=f('ZRANGE',k,-1,-1,'WITHSCORES') "

/* A writer's mark, "<when it came> <daemon>", stands in the way of readers of other daemons that came later: bars()
 * tells whose mark it is. */
#define BARS                                                                 \
    "local function bars(m,id,came) "                                        \
    "local w=redis.pcall('GET',m) "                                          \
    "local s,o=string.match(type(w)=='string' and w or '','^(%d+) (%x+)$') " \
    "return s and o~=id and tonumber(s)<came and o end "

/* The queue of a name: KEYS[2]. ARGV[2] is this daemon, ARGV[3] and an id name that daemon's channel, ARGV[4]
 * is the name of the lock, and ARGV[5] how long the queue lives. */
#define SAY                                                                              \
    "local f,q=redis.pcall,KEYS[2] "                                                     \
    "local function now() local t=f('TIME') return t[1]*1000+math.floor(t[2]/1000) end " \
    "local function say(id,what) return f('PUBLISH',ARGV[3]..id,what..' '..ARGV[4]) end "

/* Takes the first other daemon off the queue and wakes it. If nobody hears that, the daemon is gone, or polls:
 * the next one is woken then, and told that it comes after a daemon that polls. 2 and for how long the woken one
 * had waited; 1: nobody else is there; -1: somebody did not listen, or the queue cannot be read; -2: PUBLISH is
 * not allowed. An error of PUBLISH must not hide that a key was deleted before. */
#define WALK                                                                                   \
    SAY "local function walk() local r=1 "                                                     \
        "for i=1,64 do "                                                                       \
        "local z=f('ZRANGE',q,0,1,'WITHSCORES') "                                              \
        "if z.err then return -1 end "                                                         \
        "local k=z[1]==ARGV[2] and 3 or 1 "                                                    \
        "local id=z[k] "                                                                       \
        "if not id then break end "                                                            \
        "local n=f('ZREM',q,id) "                                                              \
        "if type(n)=='table' then return n end "                                               \
        "local h=say(id,r<0 and 'l' or 'w') "                                                  \
        "if type(h)=='table' then f('ZADD',q,z[k+1],id) f('PEXPIRE',q,ARGV[5]) return -2 end " \
        "if h>0 then return r<0 and r or 2+math.max(0,now()-z[k+1]) end "                      \
        "r=-1 end return r end "

/* Tells the daemon whose id the value begins with, unless it is ARGV[2], that its key was deleted. KEYS[1] and the
 * channel begin with the same prefix: what follows it is the name, and of a slot the number, too. An error must not
 * hide that the key was deleted. */
#define LETTER(value)                     \
    "local id=string.sub(" value ",1,8) " \
    "if id~=ARGV[2] then "                \
    "redis.pcall('PUBLISH',ARGV[3]..id,'g '..string.sub(KEYS[1],#ARGV[3]-5)) end "

/* A value as proto/who.h shows it. */
#define TEXT \
    "local function text(v) return #v<=64 and string.match(v,'^[%x,]+$') or '?'..redis.sha1hex(v) end "
/* Whether an answer is an error that tells more than the type of a key. */
#define BAD                                                                                                  \
    "local function bad(v) return type(v)=='table' and v.err and not string.find(v.err,'WRONGTYPE',1,true) " \
    "end "
/* For a list of names: whether all keys are ours, for whose token ARGV[1] has the list's hash behind it; otherwise
 * the script ends with this answer. */
#define ALL_OURS(otherwise)                                                                \
    "local f,k,a=redis.pcall,KEYS,ARGV "                                                   \
    "for i=1,#k do local v=f('GET',k[i]) "                                                 \
    "if v~=a[1] then "                                                                     \
    "if type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v end " \
    "return " otherwise " end end "

/* EXTEND of a reader lengthens the time of the token, and the key's TTL with it. s: the instant at which
 * the reader's time is over now; 0: the token is no reader. An error leaves that time as it is. */
#define LONGER(key, token)                                                     \
    "local s,e=f('ZSCORE'," key "," token "),now+t "                           \
    "s=type(s)=='string' and tonumber(s) or 0 "                                \
    "if s>now and s<e then "                                                   \
    "local z=f('ZRANGE'," key ",-1,-1,'WITHSCORES') "                          \
    "local r=z[2] and f('PEXPIREAT'," key ",math.max(e,tonumber(z[2]))) "      \
    "if type(r)=='number' then r=f('ZADD'," key ",'XX','GT',e," token ") end " \
    "if type(r)=='number' then s=e end end "

/* A clock that was set back lets keys live for hours. EXTEND cuts the time of its own token to x ms; 0: it does not.
 * Nobody was told more than that, so that no holder suffers. A cut that is refused does no harm. */
#define SHORTER(key, token)                           \
    "if x>0 and s>now+x then s=now+x "                \
    "f('ZADD'," key ",'XX',s," token ") "             \
    "local z=f('ZRANGE'," key ",-1,-1,'WITHSCORES') " \
    "if z[2] then f('PEXPIREAT'," key ",z[2]) end end "

/* Whether a daemon made the value: a token (see daemon/coordinator/base/token.h), or that of a list with the list's
 * hash behind it. A mark, and any kind that comes later, counts as made by somebody else. */
#define MADE                                                                          \
    "local function made(v) "                                                         \
    "local t,r=string.sub(v,1,40),string.sub(v,41) "                                  \
    "if #t<40 or string.find(t,'[^%da-f]') then return false end "                    \
    "if r~='' and (#r~=9 or not string.find(r,'^,[%da-f]+$')) then return false end " \
    "local h=2166136261 "                                                             \
    "for i=1,31,2 do "                                                                \
    "local b,l=tonumber(string.sub(t,i,i+1),16),h%256 "                               \
    "h=h-l+bit.bxor(l,b) "                                                            \
    "h=(h*403+h%256*16777216)%4294967296 end "                                        \
    "return string.sub(t,9,10)<'04' and string.format('%08x',h)==string.sub(t,33) end "

#define SHARE_ASKS                                                                                   \
    READ "if type(v)=='string' then return 0 end " OTHERWISE CLOCK BARS "local e=tonumber(ARGV[2]) " \
         "if KEYS[2] then "                                                                          \
         "e=now+e "                                                                                  \
         "if bars(KEYS[2],ARGV[3],now-ARGV[4]) then return 0 end "                                   \
         "elseif e<=now then return 0 end "
/* A user that could not take the reader away again, for want of a right, must not add it: hence the ZREM of nothing.
 * The ZREM comes last where the reader is the first one, since a script that has written before fills a full memory. */
#define SHARE_ADDS                                                                     \
    OVER "if not KEYS[2] and f('ZSCORE',k,ARGV[1]) then return 0 end " LAST            \
         "local m,r=z[2] and math.max(e,tonumber(z[2])) or e,z[2] and f('ZREM',k,'') " \
         "if type(r)=='table' then return r end "                                      \
         "r=z[2] and f('PEXPIREAT',k,m) "                                              \
         "if type(r)=='table' then return r end "                                      \
         "r=f('ZADD',k,'GT',e,ARGV[1]) "                                               \
         "if type(r)=='table' then return r end "                                      \
         "r=f('PEXPIREAT',k,m) "                                                       \
         "if type(r)=='number' and not z[2] then r=f('ZREM',k,'') end "                \
         "if type(r)=='number' then return 1 end "                                     \
         "if z[2] then f('ZREM',k,ARGV[1]) else f('DEL',k) end "                       \
         "return r"

static const struct {
    const char *text;
    const char *sha1; /* the text's digest, for EVALSHA */
} scripts[RESP_SCRIPTS] = {
    /* RELEASE: compare and delete, as on the Redlock page. 1: deleted, 0: not ours. Where a queue is given,
     * its first is woken, too: see WALK; and another daemon whose key it was gets a letter. ARGV[6] says whether this
     * daemon goes to the end of the queue. ARGV[7] and ARGV[8] are other tokens that the key may have. */
    {READ "local n=0 "
          "if v==ARGV[1] or v==ARGV[7] or v==ARGV[8] then "
          "n=redis.pcall('DEL',KEYS[1]) "
          "if n==1 and KEYS[2] then " LETTER(
              "v") "end "
                   "elseif type(v)=='table' then " OTHERWISE CLOCK OVER "n=f('ZREM',k,ARGV[1]) "
                   "if n==1 and KEYS[2] then " LETTER(
                       "ARGV[1]") "end "
                                  "if n==1 then " LAST "if z[2] then f('PEXPIREAT',k,z[2]) return 1 "
                                  "end end end "
                                  "if n==1 and KEYS[2] then " WALK "n=walk() "
                                  "if type(n)=='table' then n=-1 end "
                                  "if ARGV[6]=='1' then f('ZADD',q,now(),ARGV[2]) "
                                  "f('PEXPIRE',q,ARGV[5]) "
                                  "else f('ZREM',q,ARGV[2]) end end "
                                  "return n",
     "e0cebc3c394f98de8441dc7cf5a005ab8aa73f66"},
    /* EXTEND of 1 to 64 keys, with a token and a TTL for each. The script uses PEXPIRE, never SET, and
     * never shortens a TTL, since a late or short EXTEND must not cut the validity that a holder was told.
     * For each key the script returns the TTL that the key has now; -2: not ours. A PEXPIRE with GT
     * that lengthens the TTL saves the PTTL, but GT and REDIS_VERSION_NUM exist only from Redis 7 on. A key
     * without a TTL, which GT refuses, gets one from the plain PEXPIRE. An error counts for all keys, even
     * if some have been extended before: nobody relies on the longer TTL of these, so it does no harm. Where
     * readers have the key, the token's time becomes longer, and the key's TTL with it; an error there leaves the
     * time as it is, and is no other key's. The last argument is x: see SHORTER. */
    {"local f,k,a,n,g=redis.pcall,KEYS,ARGV,{},redis.REDIS_VERSION_NUM "
     "local x=tonumber(a[2*#k+1] or 0) "
     "for i=1,#k do local v,t=f('GET',k[i]),a[2*i] "
     "if v==a[2*i-1] then "
     "local m=tonumber(t) "
     "if not g or f('PEXPIRE',k[i],t,'GT')~=1 then "
     "local l=redis.call('PTTL',k[i]) "
     "if l<m then "
     "local e=f('PEXPIRE',k[i],t) "
     "if type(e)=='table' then return e end "
     "elseif x>0 and l>x then f('PEXPIRE',k[i],x) m=x "
     "else m=l end end "
     "n[i]=m "
     "elseif type(v)=='table' then "
     "if not string.find(v.err,'WRONGTYPE',1,true) then return v end "
     "local c=f('TIME') "
     "local now=c[1]*1000+math.floor(c[2]/1000) " LONGER("k[i]", "a[2*i-1]")
         SHORTER("k[i]", "a[2*i-1]") "n[i]=s>now and s-now or -2 "
                                     "else n[i]=-2 end end return n",
     "226e3a76c91ef44879e98291e6deebad3dc0f614"},
    /* CHECK: the TTL that is left (0 for a key that has none); -2: not ours. */
    {READ "if v==ARGV[1] then return math.max(0,redis.call('PTTL',KEYS[1])) end " OTHERWISE
          "if type(v)=='table' then " CLOCK "local s=f('ZSCORE',k,ARGV[1]) "
          "if type(s)=='string' and tonumber(s)>now then return tonumber(s)-now end end "
          "return -2",
     "1e77b07ec5c65144f19c20ccc7dc718edc528af4"},
    /* MOVE: replaces the token, or the one in ARGV[3], and keeps the TTL. 1: moved, 0: not ours. */
    {READ "if v==ARGV[1] or v==ARGV[3] then "
          "local r=redis.pcall('SET',KEYS[1],ARGV[2],'KEEPTTL') "
          "if r.err then return r end "
          "return 1 end " OTHERWISE "if type(v)=='table' then " CLOCK "local s=f('ZSCORE',k,ARGV[1]) "
          "if type(s)=='string' and tonumber(s)>now then "
          "local r=f('ZADD',k,s,ARGV[2]) "
          "if type(r)=='table' then return r end "
          "f('ZREM',k,ARGV[1]) return 1 end end "
          "return 0",
     "beb967e13729be36171b4d661d05ad66b54bd091"},
    /* ENQUEUE: {the TTL that the key has left, how many heard that somebody waits; -1: PUBLISH is not
     * allowed; whether a mark was left}. ARGV[1]: for how long this daemon's head has waited. ARGV[6] says
     * whether that is a reader: the TTL is -2 for it where readers have the name, unless a mark (KEYS[3]) bars
     * it: then the mark's daemon is woken if the name is free, and a mark of a daemon that is gone
     * is removed. A writer leaves a mark where it finds readers. None of these need be told: each reader's release
     * wakes, if it is the last. */
    {SAY BARS "local a=f('ZADD',q,'NX',now()-ARGV[1],ARGV[2]) "
              "if type(a)=='table' then return a end "
              "f('PEXPIRE',q,ARGV[5]) "
              "local t,h,l=f('PTTL',KEYS[1]),0,0 "
              "local v,came=f('GET',KEYS[1]),now()-ARGV[1] "
              "if type(v)=='string' then h=say(string.sub(v,1,8),'t') "
              "elseif v and type(f('ZSCORE',KEYS[1],''))=='table' then "
              "elseif ARGV[6]=='1' then "
              "local o=bars(KEYS[3],ARGV[2],came) "
              "if o and not v then "
              "f('ZREM',q,o) "
              "h=say(o,'w') "
              "if h==0 then f('DEL',KEYS[3]) o=nil end "
              "else h=1 end "
              "t=o and f('PTTL',KEYS[3]) or -2 "
              "elseif v then "
              "h=1 "
              "if not bars(KEYS[3],ARGV[2],came) then "
              "local r=f('SET',KEYS[3],string.format('%.0f %s',came,ARGV[2]),'PX',2000) "
              "if not r.err then l=1 end end end "
              "if type(h)=='table' then h=-1 end "
              "return {t,h,l}",
     "a99771d19bbd805594d2158caf7dd784de82a670"},
    /* PASS: wakes the first of the queue if there is no key, else tells the daemon that set the key. KEYS[3] is how
     * many slots the name has; then nobody is told, since those who wait look again and again. Without ARGV[6], KEYS[3]
     * is its mark, and it is ALONG: readers that have the name keep nobody from being woken. */
    {WALK "if ARGV[6] then "
          "local n=f('GET',KEYS[3]) "
          "n=type(n)=='string' and tonumber(n) "
          "if n then for i=0,math.min(n,1024)-1 do "
          "if not f('GET',KEYS[1]..','..i) then return walk() end end "
          "return 0 end end "
          "local m=not ARGV[6] "
          "local v,w=f('GET',KEYS[1]),m and f('GET',KEYS[3]) "
          "if type(w)=='string' and string.match(w,'%x+$')==ARGV[2] then f('DEL',KEYS[3]) end "
          "if not v or (m and type(v)=='table') then return walk() end "
          "if type(v)=='string' and string.sub(v,1,8)~=ARGV[2] then say(string.sub(v,1,8),'t') end "
          "return 0",
     "b3c82807b601db08245d5a5ed2cf440960b2c1a8"},
    /* SETTLE: the TTL that the key has now, by the token ARGV[2], which replaces ARGV[1]; -2: neither. PEXPIRE
     * runs even where it lengthens nothing: a script that has written before may SET when the memory is full. */
    {READ "if v==ARGV[1] or v==ARGV[2] then "
          "local t=math.max(redis.call('PTTL',KEYS[1]),tonumber(ARGV[3])) "
          "local e=redis.pcall('PEXPIRE',KEYS[1],t) "
          "if type(e)=='table' then return e end "
          "if v==ARGV[1] then "
          "local r=redis.pcall('SET',KEYS[1],ARGV[2],'KEEPTTL') "
          "if r.err then return r end end "
          "return t end " OTHERWISE "return -2",
     "473fad3ee605472df791400611375262f34f84cd"},
    /* DAEMONS: see proto/daemons.h. ARGV: this daemon's id, its words, and where the page begins; '-': without a page.
     * On a page a field that is no entry of a daemon is dropped, too. The answer stays below RESP_REPLY_BYTES. */
    {"local f,k,a=redis.pcall,KEYS[1],ARGV "
     "local t=f('TIME') "
     "local now=t[1]*1000+math.floor(t[2]/1000) "
     "local function age(v) local at=#v<=400 and string.match(v,'^at=(%d+) ') "
     "local g=at and now-at or -1 "
     "return g<60000 and g or -1 end "
     "local function words(v) return string.sub(v,string.find(v,' ',1,true)+1) end "
     "local o=f('HGET',k,a[1]) "
     "if type(o)=='table' then return o end "
     "if o and age(o)>=0 and words(o)~=a[2] then return 'taken' end "
     "local n,said=f('HLEN',k),'full' "
     "if type(n)=='table' then return n end "
     "if o or n<16384 then said='ok' "
     "n=f('HSET',k,a[1],string.format('at=%.0f ',now)..a[2]) "
     "if type(n)=='table' then return n end end "
     "f('PEXPIRE',k,120000) "
     "if a[3]=='-' then return said..' 0' end "
     "local s=f('HSCAN',k,a[3],'COUNT',64) "
     "if s.err then return s end "
     "local r,b={said..' '..s[1]},0 "
     "for i=1,#s[2],2 do local id,v=s[2][i],s[2][i+1] "
     "local g=age(v) "
     "if g<0 or #id~=8 then n=f('HDEL',k,id) "
     "if type(n)=='table' then return n end "
     "elseif b<60000 then r[#r+1]=string.format('%s %.0f %s',id,g,words(v)) b=b+#r[#r] end end "
     "return table.concat(r,'\\n')",
     "d3dccf405800fbf6c2a0d487111c5ae912499ef6"},
    /* WHO: see proto/who.h. KEYS: the lock, the queue, the number of slots, whose keys are made here: where that number
     * has run out, all there could be. The script writes nothing, and its answer stays below RESP_REPLY_BYTES. */
    {"local f,r,b,cut=redis.pcall,{''},0,0 "
     "local t=f('TIME') "
     "local now=t[1]*1000+math.floor(t[2]/1000) " TEXT BAD "local function add(kind,v,n) "
     "local l=string.format('%s %s %.0f',kind,v,n) "
     "if b+#l<60000 then r[#r+1]=l b=b+#l+1 else cut=1 end end "
     "local function look(key,kind) "
     "local v=f('GET',key) "
     "if type(v)=='string' then add(kind,text(v),f('PTTL',key)) "
     "elseif bad(v) then return v "
     "elseif v then "
     "local z=f('ZRANGE',key,0,511,'REV','WITHSCORES') "
     "if bad(z) then return z end "
     "if z.err or kind~='x' then add(kind,'?',f('PTTL',key)) return end "
     "if #z==1024 then cut=1 end "
     "for i=1,#z,2 do local n=z[i+1]-now if n>0 then add('s',text(z[i]),n) end end end end "
     "local e=look(KEYS[1],'x') "
     "if e then return e end "
     "local n=f('GET',KEYS[3]) "
     "if bad(n) then return n end "
     "n=type(n)=='string' and #n<5 and tonumber(n) or 0 "
     "if n<1 or n>1024 or n%1~=0 then n=0 end "
     "for i=0,(n==0 and #r==1 and 1024 or n)-1 do "
     "e=look(KEYS[1]..','..i,i) "
     "if e then return e end end "
     "local z=f('ZRANGE',KEYS[2],0,255,'WITHSCORES') "
     "if bad(z) then return z end "
     "if not z.err then for i=1,#z,2 do "
     "if #z[i]==8 then add('q',text(z[i]),math.max(0,now-z[i+1])) end end end "
     "r[1]=string.format('ok %d %d',n,cut) "
     "return table.concat(r,'\\n')",
     "af37bf66c425b81a7105fa0ca98d79b0316961f1"},
    /* BREAK: see proto/who.h. ARGV[1]: x for a string, s for members of a sorted set. ARGV[2] is nobody, so that
     * every daemon may be woken; ARGV[3] to ARGV[5] as above; then the values. A sorted set keeps the TTL that its
     * longest member needs. Each daemon that loses the key or a reader gets a letter, this one, too. */
    {WALK TEXT BAD
     "local k,n=KEYS[1],0 "
     "if ARGV[1]=='x' then "
     "local v=f('GET',k) "
     "if bad(v) then return v end "
     "if type(v)=='string' and text(v)==ARGV[6] then n=f('DEL',k) "
     "if n==1 then " LETTER("v") "end end "
                                 "else "
                                 "local told={} "
                                 "for i=6,#ARGV do "
                                 "local m=f('ZREM',k,ARGV[i]) "
                                 "if bad(m) then return m end "
                                 "local d=string.sub(ARGV[i],1,8) "
                                 "if m==1 and not told[d] then told[d]=1 " LETTER(
                                     "d") "end "
                                          "n=n+(type(m)=='number' and m or 0) end "
                                          "local z=f('ZRANGE',k,0,0,'REV','WITHSCORES') "
                                          "if z[2] then f('PEXPIREAT',k,z[2]) return 'ok '..n end end "
                                          "if type(n)=='table' then return n end "
                                          "if n>0 then walk() end "
                                          "return 'ok '..n",
     "79a593fe149e691459d4e267288c16979c8dfc11"},
    /* SHARE, with KEYS[2], the mark: ARGV[2] is a TTL, ARGV[3] this daemon, ARGV[4] for how long the reader has
     * waited. SHARE_AT, without KEYS[2]: ARGV[2] is the instant at which the reader's time is over. */
    {SHARE_ASKS SHARE_ADDS, "77ac8f4651b433a108efd0bfe1f90c7a08fb52eb"},
    /* DOWN: a writer's key, of the token ARGV[3] or ARGV[4], becomes that of one reader, ARGV[1], with the end that it
     * had, or later: ARGV[2] is a TTL, as for EXTEND. The TTL that the reader has now; -2: none of the three is there.
     * A PEXPIREAT that lengthens nothing comes first, since a full memory refuses nothing to a script that has written.
     * Whether the user has the right to what follows shows before the DEL: a string answers WRONGTYPE to both. */
    {READ OTHERWISE
     "local f,k,t=redis.pcall,KEYS[1],tonumber(ARGV[2]) "
     "local p=v==ARGV[3] or v==ARGV[4] "
     "local o=p and redis.call('PTTL',k) or -1 "
     "if o<0 then o=t end "
     "local c=f('TIME') "
     "local now=c[1]*1000+math.floor(c[2]/1000) "
     "if p then "
     "local r=f('PEXPIREAT',k,now+o+1) "
     "if type(r)=='table' then return r end "
     "t=math.max(t,o) "
     "for i=1,2 do "
     "r=i==1 and f('ZREM',k,'') or f('ZADD',k,0,'') "
     "if type(r)=='table' and not string.find(r.err,'WRONGTYPE',1,true) then return r end end "
     "r=f('DEL',k) "
     "if type(r)=='table' then return r end "
     "r=f('ZADD',k,now+t,ARGV[1]) "
     "if type(r)=='table' then return r end "
     "f('PEXPIREAT',k,now+t) "
     "return t end "
     "if type(v)~='table' then return -2 end " LONGER("k", "ARGV[1]") "return s>now and s-now or -2",
     "94b5815f09807679353d68c3e1dcf6f6d23eba9b"},
    /* SET_ALL and HEAL_ALL: sets all keys or none. 1: set; 0, -1, ...: the first, the second, ... was there.
     * ARGV: the value, the TTL or instant, and PX or PXAT. A script that has written before may write when the
     * memory is full, so that only the first SET can fail; whatever else fails takes back what was set. */
    {"local f,k,a=redis.pcall,KEYS,ARGV "
     "for i=1,#k do local v=f('GET',k[i]) "
     "if type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v end "
     "if v then return 1-i end end "
     "for i=1,#k do local r=f('SET',k[i],a[1],a[3],a[2]) "
     "if r.err then "
     "for j=1,i-1 do f('DEL',k[j]) end "
     "return r end end "
     "return 1",
     "5940565a8505e2c70182d9b7048a8e633b5e0964"},
    /* RELEASE_ALL: deletes each key that is ours. 1: there were some, 0: none. With ARGV[2] and ARGV[3], this daemon and
     * how channels begin, another daemon whose keys they were gets a letter about the first name. */
    {"local f,n=redis.pcall,0 "
     "for i=1,#KEYS do local v=f('GET',KEYS[i]) "
     "if v==ARGV[1] then "
     "local d=f('DEL',KEYS[i]) "
     "if type(d)=='table' then return d end "
     "n=1 "
     "elseif type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) then return v end end "
     "if n==1 and ARGV[3] then " LETTER("ARGV[1]") "end "
                                                   "return n",
     "2215063406425497bc96eab84d2b0c77fcf711ed"},
    /* EXTEND_ALL and CHECK_ALL: the shortest TTL of the keys, after none is shorter than ARGV[2], nor, where that is
     * given, longer than ARGV[3]; -2: one of them is not ours. All have the same TTL, unless somebody else changed
     * one. */
    {ALL_OURS("-2") "local t,x,n=tonumber(a[2]),tonumber(a[3] or 0),nil "
                    "for i=1,#k do local l=redis.call('PTTL',k[i]) "
                    "if l<t and t>0 then "
                    "local e=f('PEXPIRE',k[i],a[2]) "
                    "if type(e)=='table' then return e end "
                    "l=t "
                    "elseif x>0 and l>x then f('PEXPIRE',k[i],x) l=x end "
                    "if not n or l<n then n=l end end "
                    "return math.max(0,n)",
     "7145d129fef8097e71f194d45e940dd4bc01aba3"},
    /* MOVE_ALL: 1: moved, 0: one of the keys is not ours. */
    {ALL_OURS("0") "for i=1,#k do local r=f('SET',k[i],a[2],'KEEPTTL') "
                   "if r.err then return r end end "
                   "return 1",
     "3a3b8f1d41c876995dc9e6fc6fe0293016510099"},
    /* ZSCORE_ALL: the highest score of the buckets in ARGV. */
    {"local f,n,m=redis.pcall,-1,false "
     "for i=1,#ARGV do local s=f('ZSCORE',KEYS[1],ARGV[i]) "
     "if type(s)=='table' then return s end "
     "if s and tonumber(s)>n then n,m=tonumber(s),s end end "
     "return m",
     "52675462819dfd6e3453a656961d4ea732b27194"},
    /* LOOK: how many slots the name has as the first daemon said it, whether all who have one heard (1; else 0 or
     * -1, as in ENQUEUE), the shortest and the longest TTL of a slot (-1: not known), and behind these a bit map of the
     * slots that have keys. KEYS: the name, the number of its slots, and its queue, if this daemon joins it. ARGV[1]: slots.
     * The number lives on as long as daemons look that have the same. */
    {"local f,k,g,q,n=redis.pcall,KEYS[1]..',',KEYS[2],KEYS[3],tonumber(ARGV[1]) "
     "local m=f('SET',g,n,'NX','PX',ARGV[5]) "
     "if type(m)=='table' and m.err then return m end "
     "m=m and n or f('GET',g) "
     "if m==ARGV[1] then f('PEXPIRE',g,ARGV[5]) end "
     "if type(m)=='table' then m=0 end "
     "if q then local t=f('TIME') "
     "local z=f('ZADD',q,'NX',t[1]*1000+math.floor(t[2]/1000)-ARGV[6],ARGV[2]) "
     "if type(z)=='table' then return z end "
     "f('PEXPIRE',q,ARGV[5]) end "
     "local b,c,x,ids,w,y={},0,0,{},-1,-1 "
     "for i=0,n-1 do local v=f('GET',k..i) "
     "if v then c,x=c+1,x+2^(i%8) "
     "if type(v)=='string' then ids[string.sub(v,1,8)]=1 end end "
     "if i%8==7 or i==n-1 then b[#b+1]=string.char(x) x=0 end end "
     "local h=1 "
     "if q and c==n then "
     "for i=0,n-1 do local t=f('PTTL',k..i) y=math.max(y,t) if t>=0 and (w<0 or t<w) then w=t end end "
     "for id in pairs(ids) do if id~=ARGV[2] then "
     "local p=f('PUBLISH',ARGV[3]..id,'t '..ARGV[4]) "
     "if type(p)=='table' then h=-1 elseif p==0 and h==1 then h=0 end end end end "
     "return string.format('%d %d %d %d ',tonumber(m) or 0,h,w,y)..table.concat(b)",
     "dc517b572bd79dde5e4d8ed6299ed4f96d946c32"},
    /* GROUP_SET and GROUP_NEW: writes the group's key (proto/group.h). ARGV: XX or NX, the text, the key's TTL, and the
     * length of a full quarantine. 1: written; 0: XX and there is none, NX and there is one, or it is of another group.
     * The later from= of one run stays, with the words that belong to it, since two daemons may doubt a master at once.
     * A from= that lies further ahead than any quarantine gets back=. Words of later versions are dropped. */
    {READ "if type(v)=='table' then return string.find(v.err,'WRONGTYPE',1,true) and 0 or v end "
          "if (v and 'XX' or 'NX')~=ARGV[1] then return 0 end "
          "local p,back='^(1 N=%d+ max_ttl=%d+) run=(%x+) from=(%d+)(.*)$',nil "
          "local function word(s,k) return string.match(s..' ',' '..k..'=(%w+) ') end "
          "local h,run,from,words=string.match(ARGV[2],p) "
          "local set=word(words,'set') "
          "if v then "
          "local h2,run2,from2,words2=string.match(v,p) "
          "if h2~=h then return 0 end "
          "local set2=word(words2,'set') "
          "if set and set2 and set~=set2 then return 0 end "
          "set=set or set2 "
          "if run2==run and tonumber(from2)>=tonumber(from) then "
          "from,words,back=from2,words2,tonumber(word(words2,'back')) end end "
          "local t,full,e=redis.pcall('TIME'),tonumber(ARGV[4]),tonumber(from) "
          "local now=t[1]*1000+math.floor(t[2]/1000) "
          "if back then e=math.min(e,back+full) end "
          "if e>now+full+1000 then back=now end "
          "local text=h..' run='..run..' from='..from "
          "local function add(k,x) "
          "if x and #x<17 then text=text..' '..k..'='..x end end "
          "add('by',word(words,'by')) "
          "add('why',word(words,'why')) "
          "add('set',set) "
          "add('back',back and string.format('%.0f',back)) "
          "local r=redis.pcall('SET',KEYS[1],text,'PX',ARGV[3]) "
          "if r.err then return r end "
          "return 1",
     "ce1042172b221f88ed167d8bf06b107cff380347"},
    /* TRY: tries what the scripts for exclusive locks call, with a key that lives for 2 s at most. 0: all of it works;
     * else which does not (enum lacking). An error that says nothing of the command is the answer. */
    {"local f,k=redis.pcall,KEYS[1] "
     "local function no(r,n) "
     "local t=type(r)=='table' and r.err or '' "
     "for _,c in ipairs({'OOM','READONLY','MISCONF','NOREPLICAS','LOADING','BUSY'}) do "
     "if string.find(t,c,1,true) then return r end end "
     "return n end "
     "local r=f('SET',k,1,'PX',1000) "
     "if r.err then return no(r,1) end "
     "r=f('PEXPIRE',k,2000) "
     "if r~=1 then return no(r,2) end "
     "local function short() r=f('PTTL',k) return type(r)~='number' or r<=1000 end "
     "if short() then return no(r,3) end "
     "r=f('SET',k,2,'KEEPTTL') "
     "if r.err or short() then return no(r,4) end "
     "r=f('GET',k) "
     "if r~='2' then return no(r,5) end "
     "r=f('DEL',k) "
     "if r~=1 then return no(r,6) end "
     "return 0",
     "0e5b87363f70a79e234619cca47b9822f0a716ff"},
    /* CUT: no key or reader of ours lives for more than ARGV[1] ms any more; ARGV[2]: 0, or how many slots the name
     * has. Answers how many were cut. */
    {MADE "local f,m,s=redis.pcall,tonumber(ARGV[1]),tonumber(ARGV[2]) "
          "local function readers(k) "
          "local t,n=f('TIME'),0 "
          "local e=t[1]*1000+math.floor(t[2]/1000)+m "
          "local z=f('ZRANGE',k,string.format('(%.0f',e),'+inf','BYSCORE','LIMIT',0,256) "
          "for i=1,#z do if made(z[i]) and f('ZADD',k,'XX',e,z[i])==0 then n=n+1 end end "
          "z=f('ZRANGE',k,-1,-1,'WITHSCORES') "
          "if n>0 and z[2] then f('PEXPIREAT',k,z[2]) end "
          "return n end "
          "local function cut(k) "
          "local v=f('GET',k) "
          "if type(v)=='table' then return readers(k) end "
          "if v and made(v) and redis.call('PTTL',k)>m and f('PEXPIRE',k,m)==1 then return 1 end "
          "return 0 end "
          "local n=0 "
          "for i=1,#KEYS do n=n+(s==0 and cut(KEYS[i]) or 0) end "
          "for i=0,s-1 do n=n+cut(KEYS[1]..','..i) end "
          "return n",
     "7158f90cb52fd26bf5eb7afc2b6f041cb65cc57c"},
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
    case COMMAND_ENQUEUE: return 4;
    case COMMAND_PASS:
    case COMMAND_ALONG: return 5;
    case COMMAND_SETTLE: return 6;
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT: return RESP_SCRIPT_SHARE;
    case COMMAND_DOWN: return RESP_SCRIPT_DOWN;
    case COMMAND_SET_ALL:
    case COMMAND_HEAL_ALL: return RESP_SCRIPT_LISTS;
    case COMMAND_RELEASE_ALL: return RESP_SCRIPT_LISTS + 1;
    case COMMAND_EXTEND_ALL:
    case COMMAND_CHECK_ALL: return RESP_SCRIPT_LISTS + 2;
    case COMMAND_MOVE_ALL: return RESP_SCRIPT_LISTS + 3;
    case COMMAND_ZSCORE_ALL: return RESP_SCRIPT_LISTS + 4;
    case COMMAND_LOOK: return RESP_SCRIPT_LOOK;
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: return RESP_SCRIPT_GROUP;
    case COMMAND_TRY: return RESP_SCRIPT_TRY;
    case COMMAND_CUT: return RESP_SCRIPT_CUT;
    case COMMAND_ZADD_ALL:
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_HEAL:
    case COMMAND_GET:
    case COMMAND_DEQUEUE:
    case COMMAND_LETTER:
    case COMMAND_CLIENT_ID:
    case COMMAND_INFO:
    case COMMAND_KILL:
    case COMMAND_SET:
    case COMMAND_ZADD:
    case COMMAND_ZSCORE: break;
    }
    return -1;
}
