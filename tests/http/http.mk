# Prometheus, a browser and dashboards read HTTP: this needs promtool, chromium and python3-prometheus-client.
CHECKS += ./tests/http/watched.sh
