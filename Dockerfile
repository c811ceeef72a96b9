# Images of the server, the sandbox host and the model process, with their build stages.
#
#   docker build --target server .          all verifiers
#   docker build --target sandbox-host .    only the code that talks to a container engine
#   docker build --target models .          with PyTorch
#
# locks/ pins every version, for these images and for developers. Nothing here needs BuildKit: older engines and
# docker-compose 1.29 can build the images too.
ARG BASE=debian:bookworm-slim

# --- Debian's Python 3.11 and certificate authorities, the base of all images ------------------------------------------
FROM ${BASE} AS python
RUN apt-get update -q && \
    apt-get install -y -q --no-install-recommends ca-certificates openssl python3 && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*.log /var/log/apt
# A dedicated group and user for the processes in these images, which own nothing but their state.
RUN groupadd --gid 10001 rewarden && \
    useradd --uid 10001 --gid 10001 --home-dir /var/lib/rewarden --no-create-home --shell /usr/sbin/nologin rewarden && \
    install -d -o 10001 -g 10001 /var/lib/rewarden && \
    install -d -o 10001 -g 10001 /run/rewarden /run/rewarden/secrets && \
    for name in ca host server redis postgres mariadb grafana models; do \
      install -d -o 10001 -g 10001 "/secrets/$name"; done
ENV PATH=/opt/rewarden/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1

# --- pip and a compiler, only for building --------------------------------------------------------------------------------
FROM python AS builder
RUN apt-get update -q && \
    apt-get install -y -q --no-install-recommends gcc libc6-dev python3-dev python3-pip python3-venv
# deploy/image/ca-bundle.crt: private certificate authorities of the build machine, if it has any.
COPY deploy/image/ /build/deploy/
COPY locks/setup.lock locks/trainers.lock requirements-torch.txt pyproject.toml /build/
COPY client/pyproject.toml /build/client/
ARG PIP_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_PREFER_BINARY=1 \
    PIP_CONSTRAINT=/build/constraints.txt
WORKDIR /build
# Versions without hashes: Debian's pip rejects hashes in a constraint, and our own wheels have none.
RUN sed -n '/^[a-z0-9]/s/ *\\*$//p' *.lock requirements-torch.txt >constraints.txt

# --- our own two wheels -------------------------------------------------------------------------------------------------
FROM builder AS wheels
RUN deploy/install build hatchling
COPY LICENSE README.md /build/
COPY client /build/client
COPY sandboxes /build/sandboxes
COPY server /build/server
COPY verifiers /build/verifiers
RUN deploy/install wheels /wheels client .

# --- the sandbox host ---------------------------------------------------------------------------------------------------
FROM builder AS sandbox-host-packages
RUN deploy/install host /opt/rewarden
COPY --from=wheels /wheels /wheels
RUN deploy/install ours /opt/rewarden

FROM python AS sandbox-host
COPY --from=sandbox-host-packages /opt/rewarden /opt/rewarden
COPY deploy/sandbox-host deploy/secrets /usr/local/bin/
# Root without capabilities; docs/deploying.md gives the reasons.
USER 0:0
EXPOSE 50052
STOPSIGNAL SIGTERM
ENTRYPOINT ["sandbox-host"]

# --- the server ---------------------------------------------------------------------------------------------------------
FROM builder AS server-packages
ARG EXTRAS=all,redis,otel
RUN deploy/install packages /opt/rewarden "$EXTRAS"
COPY --from=wheels /wheels /wheels
RUN deploy/install ours /opt/rewarden

FROM python AS server
COPY --from=server-packages /opt/rewarden /opt/rewarden
USER 10001:10001
WORKDIR /var/lib/rewarden
EXPOSE 8080 50051
STOPSIGNAL SIGTERM
ENTRYPOINT ["rewarden"]
CMD ["serve"]

# --- the model process --------------------------------------------------------------------------------------------------
FROM builder AS models-packages
# PyTorch's wheel index. If this is empty, pip installs PyPI's torch, which includes CUDA.
ARG TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN TORCH_INDEX_URL="$TORCH_INDEX_URL" deploy/install packages /opt/rewarden models
COPY --from=wheels /wheels /wheels
RUN deploy/install ours /opt/rewarden

FROM python AS models
COPY --from=models-packages /opt/rewarden /opt/rewarden
USER 10001:10001
WORKDIR /var/lib/rewarden
EXPOSE 8090
STOPSIGNAL SIGTERM
ENTRYPOINT ["rewarden"]
CMD ["models", "serve", "--listen", "0.0.0.0:8090"]
