# Optional services beside the server, from Debian's packages. Targets: redis, postgres, mariadb, prometheus.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS redis
# Separate user ids, so that a process that escapes one service has no rights in another. Debian's packages use them.
RUN useradd --uid 10002 --user-group --no-create-home --shell /usr/sbin/nologin redis && \
    apt-get update -q && apt-get install -y -q --no-install-recommends redis-server && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*.log /var/log/apt
COPY deploy/services/redis /usr/local/bin/service
USER redis
EXPOSE 6379
ENTRYPOINT ["service"]

FROM ${BASE} AS postgres
RUN useradd --uid 10003 --user-group --no-create-home --shell /usr/sbin/nologin postgres && \
    apt-get update -q && apt-get install -y -q --no-install-recommends postgresql && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*.log /var/log/apt /var/lib/postgresql && \
    install -d -o 10003 -g 10003 -m 0700 /var/lib/postgresql
COPY deploy/services/postgres /usr/local/bin/service
USER postgres
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["service"]

FROM ${BASE} AS mariadb
RUN useradd --uid 10004 --user-group --no-create-home --shell /usr/sbin/nologin mysql && \
    apt-get update -q && apt-get install -y -q --no-install-recommends mariadb-server && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*.log /var/log/apt /var/lib/mysql && \
    install -d -o 10004 -g 10004 -m 0700 /var/lib/mysql
COPY deploy/services/mariadb /usr/local/bin/service
USER mysql
EXPOSE 3306
ENTRYPOINT ["service"]

FROM ${BASE} AS prometheus
# The package creates the user `prometheus` itself, so this one has another name.
RUN useradd --uid 10005 --user-group --no-create-home --shell /usr/sbin/nologin watch && \
    apt-get update -q && apt-get install -y -q --no-install-recommends prometheus && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*.log /var/log/apt /var/lib/prometheus && \
    install -d -o 10005 -g 10005 -m 0700 /var/lib/prometheus
COPY deploy/services/prometheus /usr/local/bin/service
USER watch
EXPOSE 9090
ENTRYPOINT ["service"]
