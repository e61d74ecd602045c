# What Prometheus, a browser and dashboards make of HTTP: needs promtool, chromium and python3-prometheus-client.
CHECKS += ./tests/http/watched.sh
