"""openmetrics.py FILE...: reads OpenMetrics (the first file) and the text format 0.0.4 (the second) by the parsers of
python3-prometheus-client, and compares what the two say."""
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

CHANGING = ("process_", "redlockd_loop_lag", "redlockd_master_rtt", "redlockd_longest")


def samples(families):
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples
            if not s.name.startswith(CHANGING)}


first, second = (list(read(open(path).read())) for read, path in zip((openmetrics, plain), sys.argv[1:]))
assert len(first) > 30, len(first)
assert all(f.documentation for f in first + second)
assert samples(first).keys() == samples(second).keys(), samples(first).keys() ^ samples(second).keys()
