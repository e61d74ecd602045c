#include "tests/integ/harness.h"

int main(int argc, char **argv)
{
    return harness_run(argc, argv);
}
