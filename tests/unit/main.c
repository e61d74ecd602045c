#include "tests/unit/suite.h"

int main(int argc, char **argv)
{
    return suite_main(argc, argv);
}
