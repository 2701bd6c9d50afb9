# MODAK's service. docker-compose.yml runs it with PostgreSQL and a reverse proxy in front.
#
#   docker build --tag modak .        or: buildah build --tag modak .
#
# PYTHON_IMAGE may be any image with Python 3.11 or later and its venv module: a mirror's, or a site's own.
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/
RUN python3 -m venv /opt/modak && /opt/modak/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY modak modak
COPY alembic alembic
COPY benchmarks_db benchmarks_db
RUN /opt/modak/bin/pip install --no-cache-dir --no-build-isolation --no-deps .

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="MODAK" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/modak /opt/modak
RUN useradd --system --create-home --uid 990 modak
USER 990
WORKDIR /home/modak
# /tmp is what it may write in docker-compose.yml: there matplotlib keeps what it knows of fonts.
ENV PATH=/opt/modak/bin:$PATH PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=/tmp/matplotlib
EXPOSE 8000
CMD ["modak", "serve", "--host", "0.0.0.0", "--port", "8000"]
