# Both programs, `fedhub` and `fedhub-agent`, in one image:  docker build -t fedhub:0.1.0 .
# Runs as nobody in particular, on a read-only root; what is written goes to /tmp.

FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
RUN python -m venv --without-pip /opt/fedhub \
    && python -m venv /opt/builder \
    && /opt/builder/bin/python -m pip install --no-cache-dir pip==25.3 hatchling==1.27.0
COPY requirements.lock ./
RUN /opt/builder/bin/python -m pip --python /opt/fedhub/bin/python install --no-cache-dir -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY hub hub/
COPY worker_agent worker_agent/
COPY manifests/demo manifests/demo/
RUN /opt/builder/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /src/dist . \
    && /opt/builder/bin/python -m pip --python /opt/fedhub/bin/python install --no-cache-dir --no-deps /src/dist/fedhub-0.1.0-py3-none-any.whl

FROM python:3.12.12-slim-bookworm
LABEL org.opencontainers.image.title="fedhub" \
      org.opencontainers.image.description="Federation hub for batch and training jobs on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/fedhub /opt/fedhub
ENV PATH=/opt/fedhub/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
WORKDIR /tmp
USER 65532:65532
EXPOSE 8081 8082 8443 8444 8445 9443
CMD ["fedhub", "--help"]
