#include "tests/integ/only.h"

struct cluster masters;
struct daemon redlockd;
